import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// The page "ByEndpoint".
@Suite(.timeLimit(.minutes(20))) struct ByEndpointPageTests {
    private struct Movie: Codable, Sendable {
        var title: String
        var isLiked: Bool
    }

    private struct GetMovie: Endpoint {
        typealias Response = Movie
        let id: Int
        var path: String { "/movies/\(id)" }
    }

    private struct LikeMovie: Endpoint {
        typealias Response = NoContent
        let id: Int
        var path: String { "/movies/\(id)/like" }
        let method = HTTPRequest.Method.put
    }

    private struct GetProfile: Endpoint {
        typealias Response = Data
        let path = "/me"
    }

    private static let url = "https://api.example.com/movies/7"
    private static let movie = ScriptedTransport.Reply.ok(
        #"{"title":"Stalker","isLiked":false}"#,
        fields: [.cacheControl: "max-age=60", .contentType: "application/json"]
    )

    private func like(_ client: CachingClient, _ id: Int) async throws {
        let update = try await client.update(GetMovie(id: id)) { $0.isLiked = true }
        do {
            _ = try await client.fetch(LikeMovie(id: id))
        } catch {
            try await update.rollBack()
            throw error
        }
    }

    @Test func likeShowsAtOnceAndIsTakenBack() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let (client, id) = (test.client, 7)
            test.transport.script(Self.url, Self.movie)
            let movie = client.call(GetMovie(id: id)).with {
                $0.followsStore = true
                $0.networkFailure = .endingQuietly
            }.request()
            var shown = movie.makeAsyncIterator()
            #expect(try await shown.next()?.value.isLiked == false)
            test.transport.script(Self.url + "/like", method: .put, .status(.serviceUnavailable))
            await #expect(throws: HoldfastError.self) { try await like(client, id) }
            // The like shows at once and is taken back. If both happened before the stream read the
            // store, nothing new is emitted.
            test.transport.script(Self.url + "/like", method: .put, .ok(""))
            try await like(client, id)
            while try await shown.next()?.value.isLiked == false {}
            #expect(try await client.stored(GetMovie(id: id))?.value.isLiked == true)
        }
    }

    @Test func updateWithoutAStoredValueChangesNothing() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let called = Events()
            let update = try await test.client.update(GetMovie(id: 7)) { _ in called.append("change") }
            let isRestored = try await update.rollBack()
            #expect(update.value == nil && !isRestored && called.all == [])
        }
    }

    @Test func otherFunctionsOfThePageWork() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let (client, id) = (test.client, 7)
            test.transport.script(Self.url, Self.movie)
            _ = try await client.fetch(GetMovie(id: id))
            let encoder = JSONEncoder()
            let update = try await client.update(
                GetMovie(id: id),
                encoder: JSONContentEncoder(encoder)
            ) { movie in
                movie.isLiked = true
            }
            #expect(update.value?.isLiked == true)
            if let key = try await client.key(of: GetMovie(id: id)) {
                let raw = try await client.store.storedResponse(for: key)
                print(raw?.response.fields[.contentType] ?? "nothing stored")
            }
            try await client.invalidate(GetMovie(id: id))
            try await client.remove(GetProfile())
            #expect(try await client.stored(GetMovie(id: id))?.isStale == true)
        }
    }
}
