import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

/// An API in a framework of its own: its endpoints are extensions.
private enum HarbourAPI {}

extension HarbourAPI {
    fileprivate struct Thing: Endpoint {
        let id: Int
        var baseURL: String { ScriptedClient.url }
        var path: String { "/things/\(id)" }
    }
}
extension Endpoint where Self == HarbourAPI.Thing {
    fileprivate static func thing(_ id: Int) -> Self { HarbourAPI.Thing(id: id) }
}

/// One result of a call, and the steps that lead from it to models.
@Suite(.timeLimit(.minutes(20))) struct ResultTests {
    private struct Thing: Codable, Sendable, Equatable {
        @ExactInteger var id: Int64
        var name: String
        @Default<Fallback.Zero<Int>> var likes: Int
        @Default<Fallback.Empty<[String]>> var photos: [String]
        var note: String?
    }

    private func result(_ content: String, status: HTTPResponse.Status = .ok) async throws -> Result<
        Emission<Data>, HoldfastError
    > {
        let (calls, last) = (Events(), Kept<Result<Emission<Data>, HoldfastError>>())
        try await ScriptedClient.run { fixture in
            fixture.script("/things/1", .status(status, content))
            await HarbourAPI.Thing(id: 1).on(fixture.client).results { result in
                calls.append("called")
                last.value = result
            }.finished()
        }
        #expect(calls.all == ["called"])
        return try #require(last.value)
    }

    // One completion has the value, or the error and the raw object; handlers are chained.
    @Test func completionHasTheValueOrTheErrorAndTheRawObject() async throws {
        let events = Events()
        try await result("[1]").onSuccess { events.append("success \($0.value.count)") }.onFailure { _ in
            events.append("failure")
        }
        try await result("sorry", status: .internalServerError)
            .onSuccess { _ in events.append("success") }
            .onFailure { events.append("failure \(String(decoding: $0.body ?? [], as: UTF8.self))") }
        #expect(events.all == ["success 3", "failure sorry"])
    }

    // `map` and `flatMap` chain steps: object to dictionary, to array of dictionaries, to model;
    // array to models.
    @Test func stepsLeadFromTheObjectToModels() async throws {
        let outcome = try await result(#"{"things":[{"id":"1","name":"a"},{"id":2,"name":"b","likes":3}]}"#).map(
            \.value
        )
        let things = outcome.step(.dictionary).step { $0["things"] }
        let models = things.step(.models(Thing.self))
        #expect(try models.get().map(\.id) == [1, 2])
        let names = things.step(.dictionaries).map { $0.compactMap { $0["name"]?.text } }
        #expect(try names.get() == ["a", "b"])
        let first = things.step { $0.elements?.first }.step(.model(Thing.self)).flatMap {
            thing -> Result<String, HoldfastError> in
            .success(thing.name)
        }
        #expect(try first.get() == "a")
    }

    // A step that returns nil is a data-format failure.
    @Test func stepReturningNilIsADataFormatFailure() async throws {
        let outcome = try await result(#"{"other":1}"#).map(\.value).step(.dictionary).step { $0["things"] }
        guard case .failure(let error) = outcome else {
            Issue.record("It is a success.")
            return
        }
        #expect(error.code == .dataFormat && error.rejected as? [String: AnyJSON] == ["other": 1])
        let call = try await result("[]").map(\.value).step(.dictionary)
        #expect(throws: HoldfastError.self) { _ = try call.get() }
    }

    private struct Odd: Error {}

    // The same holds in a stream, however the step fails. It is not treated as a failure of the
    // network.
    @Test(arguments: [false, true]) func failingStreamStepIsADataFormatFailure(throwing: Bool) async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/things/1", .fresh("[1]"), .fresh("[1]"))
            let stream = HarbourAPI.Thing(id: 1).on(fixture.client).map(String.self).request()
            let step: EmissionStream<Int> =
                throwing ? stream.map { _ in throw Odd() } : stream.compactMap { Int($0) }
            let caught = Kept<HoldfastError>()
            await step.subscribe(onNext: { _ in }, onError: { caught.value = $0 }).finished()
            #expect(caught.value?.code == .dataFormat && caught.value?.rejected as? String == "[1]")
            #expect((caught.value?.cause is Odd) == throwing)
            await expect(.dataFormat) { for try await _ in step {} }
        }
    }

    // A model without a required property is not decoded. Absent optional properties keep their
    // defaults.
    @Test func modelsAreCompleteAndAbsentPropertiesKeepTheirDefaults() async throws {
        let whole = try await result(#"{"id":1,"name":"a"}"#).map(\.value).step(.model(Thing.self)).get()
        #expect(whole.likes == 0 && whole.photos == [] && whole.note == nil)
        for content in [#"{"id":1}"#, #"{"name":"a"}"#, #"{"id":1,"name":null}"#, #"{"id":1,"name":"a","likes":"x"}"#] {
            let none = try await result(content).map(\.value).step(.model(Thing.self))
            guard case .failure(let error) = none else {
                Issue.record("\(content) is a model.")
                continue
            }
            #expect(error.code == .decodingFailed && error.body == Array(content.utf8))
        }
    }

    // 64-bit identifiers are exact, from a number or a string.
    @Test(arguments: ["9223372036854775807", #""9223372036854775807""#, "9007199254740993", #""-9223372036854775808""#])
    func idsOf64BitsAreExact(id: String) async throws {
        let thing = try await result(#"{"id":\#(id),"name":"a"}"#).map(\.value).step(.model(Thing.self)).get()
        #expect("\(thing.id)" == id.filter { $0 != "\"" })
    }

    // The same holds over a real connection and through the store.
    @Test func ids64BitsLongAreExactFromTheOriginAndTheStore() async throws {
        struct IDs: Decodable, Sendable {
            @ExactInteger var id: Int64
            @ExactInteger var parentID: Int64
        }
        try await ClientFixture.run(.init(envelope: Envelope())) { fixture in
            let request = AnyRequest<IDs>(baseURL: fixture.origin.baseURL, path: "/envelope/ids")
            for source in [CacheResponse.Source.network, .store] {
                let emission = try await fixture.client.fetch(request)
                #expect(emission.value.id == .max && emission.value.parentID == .max - 1 && emission.source == source)
            }
        }
    }

    // Endpoints can be extensions of an API that is a framework of its own.
    @Test func endpointsAreExtensions() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/things/7", .fresh(#"{"id":7,"name":"seven"}"#))
            let thing = try await fixture.client.fetch(.thing(7), as: Thing.self).value
            #expect(thing.name == "seven")
        }
    }
}
