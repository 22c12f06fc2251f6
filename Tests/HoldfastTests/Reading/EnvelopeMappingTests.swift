import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

/// Responses in envelopes, and the values that are read from them.
@Suite(.timeLimit(.minutes(20))) struct EnvelopeMappingTests {
    private typealias Moment = MomentsDetails.Moment

    private func get<Value>(_ path: String, _ fixture: ClientFixture, as type: Value.Type) -> AnyRequest<Value> {
        AnyRequest(baseURL: fixture.origin.baseURL, path: "/envelope/\(path)")
    }

    // The paths to code, success value, message and model (`error>errMsg`) are set once for a
    // client, and a request can override them.
    @Test func envelopePathsAreSetOnceAndOverriddenPerRequest() async throws {
        let envelope = Envelope(
            code: ValuePath("error>errCode", separator: ">"),
            messages: [ValuePath("error>errMsg", separator: ">")],
            model: "result"
        )
        try await ClientFixture.run(.init(envelope: envelope)) { fixture in
            var nested = get("nested", fixture, as: [Moment].self)
            nested.valuePath = "items"
            let moments = try await fixture.client.fetch(nested).value
            #expect(moments.count == 10)
            let failed = await failure {
                _ = try await fixture.client.fetch(get("nested-failure", fixture, as: Moment.self))
            }
            #expect(failed?.code == .envelope && failed?.envelope?.message == "The moments are closed.")
            #expect(failed?.envelope?.code == 1001)
            var plain = get("object", fixture, as: Moment.self)
            plain.envelope = .custom(Envelope())
            let moment = try await fixture.client.fetch(plain).value
            #expect(moment == moments[0])
            let again = fixture.client.call(get("object", fixture, as: Moment.self)).with {
                $0.envelope = .custom(Envelope())
            }
            #expect(try await again.fetch().value == moments[0])
        }
    }

    // The success value compares across Boolean, number and string.
    @Test(arguments: [
        ("object?as=bool", true), ("object?code=1", true), ("object?code=1&as=string", true),
        ("object?code=true&as=string", true), ("object?code=0", false), ("object?code=0&as=string", false),
        ("failure?as=bool", false), ("object?code=2", false), ("object?code=yes&as=string", false),
    ])
    func successComparesAcrossBoolNumberAndString(path: String, isSuccess: Bool) async throws {
        try await ClientFixture.run(.init(envelope: Envelope(success: [true]))) { fixture in
            let result = try await fixture.client.fetch(get(path, fixture, as: EnvelopeResult.self)).value
            #expect(result.isSuccess == isSuccess)
            let error = await failure { _ = try await fixture.client.fetch(get(path, fixture, as: Moment.self)) }
            #expect(error?.code == (isSuccess ? nil : .envelope))
        }
    }

    // A response maps to the result (success and message), an object, an array, result and object,
    // or result and array.
    @Test func resultObjectArrayAndBothAreMapped() async throws {
        try await ClientFixture.run(.init(envelope: Envelope())) { fixture in
            let client = fixture.client
            let result = try await client.fetch(get("object", fixture, as: EnvelopeResult.self)).value
            #expect(result == EnvelopeResult(isSuccess: true, code: 0, message: "ok"))
            let object = try await client.fetch(get("object", fixture, as: Moment.self)).value
            let array = try await client.fetch(get("array", fixture, as: [Moment].self)).value
            #expect(array.first == object)
            let both = try await client.fetch(get("object", fixture, as: Enveloped<Moment>.self)).value
            #expect(both.result == result && both.model == object)
            let list = try await client.fetch(get("array", fixture, as: Enveloped<[Moment]>.self)).value
            #expect(list.result.message == "ok" && list.model == array)
            let failed = try await client.fetch(get("failure", fixture, as: Enveloped<Moment>.self)).value
            #expect(
                !failed.result.isSuccess && failed.result.message == "The moments are closed." && failed.model == nil
            )
        }
    }

    // One value is fetched at a path of names and array indexes that starts at the model.
    @Test func valuePathStartsAtTheModel() async throws {
        try await ClientFixture.run(.init(envelope: Envelope())) { fixture in
            let content = try await fixture.client.fetch(get("array", fixture, as: RawContent.self)).value
            let name = try content.value(at: "[1].userDetails.name", as: String.self)
            let array = try await fixture.client.fetch(get("array", fixture, as: [Moment].self)).value
            #expect(name == array[1].userDetails.name)
            var request = get("array", fixture, as: String.self)
            request.valuePath = "[2].id"
            #expect(try await fixture.client.fetch(request, as: AnyJSON.self).value.text == array[2].id)
            let missing = await failure { _ = try content.value(at: "[99].id", as: String.self) }
            #expect(missing?.code == .decodingFailed)
        }
    }

    // A plugin can rewrite a result before it is delivered.
    @Test func pluginRewritesResultsBeforeDelivery() async throws {
        struct Reopening: ProcessingPlugin {
            func process(_ content: inout ResponseContent, for call: CallInfo) throws {
                guard (try? content.decode(EnvelopeResult.self))?.isSuccess == false else { return }
                content.data = Data(#"{"code":0,"msg":"rewritten","data":7}"#.utf8)
            }
        }
        try await ClientFixture.run(.init(envelope: Envelope(), plugins: [Reopening()])) { fixture in
            let both = try await fixture.client.fetch(get("failure", fixture, as: Enveloped<Int>.self)).value
            #expect(both.model == 7 && both.result.message == "rewritten")
        }
    }

    // Objects and arrays are decoded at a key path, with a decoder that the caller chooses.
    @Test func valuesAreDecodedAtAKeyPathWithTheChosenDecoder() async throws {
        struct Person: Decodable, Sendable, Equatable { var fullName: String }
        let snake = JSONDecoder()
        snake.keyDecodingStrategy = .convertFromSnakeCase
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh(#"{"list":[{"who":{"full_name":"Ada"}},{"who":{"full_name":"Bob"}}]}"#))
            let call = fixture.client.call(fixture.get("/x")).decoding(with: snake)
            #expect(try await call.map(Person.self, at: "list[1].who").fetch().value == Person(fullName: "Bob"))
            let list = try await call.map([[String: Person]].self, at: "list").fetch().value
            #expect(list.compactMap { $0["who"]?.fullName } == ["Ada", "Bob"])
            // This decoder cannot read the stored content, so the client asks the origin, which has
            // no other content.
            fixture.script("/x", .fresh(#"{"list":[{"who":{"full_name":"Ada"}}]}"#))
            let error = await failure {
                _ = try await fixture.client.call(fixture.get("/x")).map([Person].self, at: "list").fetch()
            }
            #expect(error?.code == .decodingFailed && error?.codingPath?.description.hasPrefix("list[0]") == true)
        }
    }

    // The caller chooses the meaning of an empty body.
    @Test func callerChoosesTheMeaningOfAnEmptyBody() async throws {
        try await ClientFixture.run { fixture in
            var empty = AnyRequest<[Moment]>(baseURL: fixture.origin.baseURL, path: "/empty")
            await expect(.noData) { _ = try await fixture.client.fetch(empty) }
            empty.emptyContent = .json("[]")
            let none = try await fixture.client.fetch(empty).value
            #expect(none == [])
            #expect(try await fixture.client.stored(empty)?.value == [])
            let call = fixture.client.call(empty, as: Moment?.self).with { $0.emptyContent = .json("null") }
            #expect(try await call.fetch().value == nil)
        }
    }

    // The accepted status codes are a step of the call.
    @Test func acceptedStatusesAreAStep() async throws {
        try await ClientFixture.run { fixture in
            let call = fixture.client.call(
                AnyRequest<String>(baseURL: fixture.origin.baseURL, path: "/status/404?body=gone")
            )
            let refused = await call.request().collected()
            #expect(refused.emissions.isEmpty && refused.failure == .status)
            let accepted = await call.accepting(AcceptedStatuses.successful.union([404])).request().collected()
            #expect(accepted.emissions.last?.value == "gone" && accepted.emissions.last?.status == .notFound)
            let strict = await call.accepting([201]).request().collected()
            #expect(strict.failure == .status)
        }
    }
}
