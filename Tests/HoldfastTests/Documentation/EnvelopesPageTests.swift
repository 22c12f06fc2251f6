import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// The page "Envelopes".
@Suite(.timeLimit(.minutes(20))) struct EnvelopesPageTests {
    struct Moment: Decodable, Sendable, Equatable { var id: String, title: String }
    struct GetMoments: Endpoint { var path: String { "/moments" } }

    struct Detail: Codable, Sendable {
        @ExactInteger var id: Int64
        @Default<Fallback.False> var isLiked: Bool
        @Default<Fallback.Empty<[String]>> var photos: [String]
    }

    @Test func typeSelectsThePartOfTheEnvelope() async throws {
        var configuration = CachingClient.Configuration(environment: .production)
        configuration.envelope = Envelope(code: "status.code", messages: ["status.text"], model: "result")
        try await withTestClient(configuration) { test in
            let client = test.client
            test.transport.script(
                "https://api.example.com/moments",
                repeating: .ok(#"{"status": {"code": 0}, "result": [{"id": "1", "title": "Low tide"}]}"#)
            )
            let moments = try await client.fetch(GetMoments(), as: [Moment].self).value
            let page = try await client.fetch(GetMoments(), as: Enveloped<[Moment]>.self).value
            let result = try await client.fetch(GetMoments(), as: EnvelopeResult.self).value
            #expect(moments == [Moment(id: "1", title: "Low tide")])
            #expect(page.model == moments && page.result == result && result.isSuccess)
            let title = try await client.call(GetMoments()).map(String.self, at: "[0].title").fetch().value
            #expect(title == "Low tide")
        }
    }

    @Test func clientSetsDefaultsForMissingParts() async throws {
        let terse = Envelope(missingCode: 800, missingMessage: "The server is busy. Try again later.")
        let configuration = CachingClient.Configuration(environment: .production, envelope: terse)
        try await withTestClient(configuration) { test in
            test.transport.script("https://api.example.com/moments", .ok("{}"))
            let result = try await test.client.fetch(GetMoments(), as: EnvelopeResult.self).value
            #expect(result.code == 800 && result.message == "The server is busy. Try again later.")
        }
    }

    @Test func rootModelNeedsNoClient() throws {
        let json = Data(#"{"code": 0, "data": [{"id": "1", "title": "Low tide"}]}"#.utf8)
        let root = try JSONDecoder().decode(RootModel<[Moment]>.self, from: json)
        let moments = try root.validate()
        #expect(moments == [Moment(id: "1", title: "Low tide")])
    }

    @Test func stepsChain() {
        let result = Result<Data, HoldfastError>.success(Data(#"{"title": "Low tide"}"#.utf8))
        var (shown, reported): ([String], [HoldfastError.Code]) = ([], [])
        func show(_ title: String) { shown.append(title) }
        func report(_ error: HoldfastError) { reported.append(error.code) }
        result.step(.dictionary).step { $0["title"]?.text }
            .onSuccess { show($0) }
            .onFailure { report($0) }
        #expect(shown == ["Low tide"] && reported == [])
    }

    @Test func decodingToleratesSmallDeviations() throws {
        let detail = try JSONDecoder().decode(Detail.self, from: Data(#"{"id": "9007199254740993"}"#.utf8))
        #expect(detail.id == 9_007_199_254_740_993 && !detail.isLiked && detail.photos == [])
    }
}
