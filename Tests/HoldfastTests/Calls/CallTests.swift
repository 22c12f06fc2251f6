import Foundation
import Holdfast
import HoldfastTesting
import Logging
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct CallTests {
    struct Item: Codable, Sendable, Equatable {
        var id: Int
        var name: String
    }

    enum Shop: Endpoint {
        case item(Int)
        var baseURL: String { ScriptedClient.url }
        var path: String {
            switch self {
            case .item(let id): "/items/\(id)"
            }
        }
    }

    private static let lamp = #"{"id":1,"name":"lamp"}"#
    private static let light = #"{"id":1,"name":"light"}"#

    @Test func callStartsAtTheEndpointAndEmitsBothValues() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh(Self.lamp), .fresh(Self.light))
            try await CachingClient.$current.withValue(fixture.client) {
                _ = try await Shop.item(1).cache.fetch()
                let names = Events()
                let subscription = Shop.item(1).onCache(Item.self) { names.append("stored \($0.value.name)") }
                    .request { names.append("fresh \($0.value.name)") }
                await subscription.finished()
                #expect(names.all == ["stored lamp", "fresh light"])
            }
        }
    }

    @Test func explicitClientOverridesTheTasksClient() async throws {
        try await ScriptedClient.run { other in
            try await ScriptedClient.run { fixture in
                fixture.script("/items/1", .fresh(Self.lamp))
                let item = try await CachingClient.$current.withValue(other.client) {
                    try await Shop.item(1).on(fixture.client).map(Item.self).fetch().value
                }
                #expect(item == Item(id: 1, name: "lamp"))
                #expect(other.transport.requests.isEmpty)
            }
        }
    }

    @Test func callWithoutAClientIsAnError() async throws {
        await expect(.noClient) { _ = try await Shop.item(1).cache.fetch() }
        let ended = await Shop.item(1).cache.request().collected()
        #expect(ended.failure == .noClient)
    }

    @Test func requestWithoutCacheNeitherReadsNorStores() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh("1"), .fresh("2"))
            for _ in 0..<2 {
                let emissions = await Shop.item(1).on(fixture.client).request().collected().emissions
                #expect(emissions.map(\.source) == [.network])
            }
            let stored = try await fixture.client.stored(Shop.item(1))
            #expect(stored == nil)
        }
    }

    @Test func fetchUsesTheStoreWithOrWithoutCache() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh("1"), .fresh("2"))
            let (client, item) = (fixture.client, Shop.item(1))
            let first = try await item.on(client).fetch()
            #expect(first.source == .network)
            #expect(try await item.on(client).fetch().source == .store)
            #expect(try await item.on(client).fetch(.storedFirst).source == .store)
            #expect(try await item.on(client).stored()?.value == Data("1".utf8))
            #expect(try await item.call.then { _ in item.call }.on(client).fetch().source == .store)
            #expect(try await item.on(client).fetch(.networkOnly).value == Data("2".utf8))
            #expect(try await client.stored(item)?.value == Data("2".utf8))
        }
    }

    @Test func callWithoutMapReturnsTheContent() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh(Self.lamp), .fresh(Self.light))
            let call = Shop.item(1).on(fixture.client).cache
            _ = await call.request().collected()
            let emissions = await call.request().collected().emissions
            #expect(emissions.map(\.value) == [Data(Self.lamp.utf8), Data(Self.light.utf8)])
        }
    }

    @Test func mapAppliesToBothEmissions() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh(Self.lamp), .fresh(Self.light))
            let call = Shop.item(1).on(fixture.client).cache.map(Item.self).map(\.name.count)
            _ = await call.request().collected()
            let emissions = await call.request().collected().emissions
            #expect(emissions.map(\.value) == [4, 5])
            #expect(emissions.map(\.source) == [.store, .network])
        }
    }

    @Test func stepReturningNilIsADataFormatFailureWithContent() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh("nine"))
            let call = Shop.item(1).on(fixture.client).map(String.self).compactMap { Int($0) }
            do throws(HoldfastError) {
                _ = try await call.fetch()
                Issue.record("It made a number of 'nine'.")
            } catch {
                #expect(error.code == .dataFormat && error.body == Array("nine".utf8))
                #expect(!error.message.contains("nine"))
            }
        }
    }

    struct Odd: Error {}

    @Test func errorOfAStepIsTheCauseOfADataFormatFailure() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh("9"))
            let call = Shop.item(1).on(fixture.client).map { _ -> Int in throw Odd() }
            do throws(HoldfastError) {
                _ = try await call.fetch()
                Issue.record("Nothing was thrown.")
            } catch {
                #expect(error.code == .dataFormat && error.cause is Odd)
            }
        }
    }

    @Test func responseFailingValidationDoesNotReplaceTheStored() async throws {
        try await ScriptedClient.run { fixture in
            let call = fixture.client.call(Shop.item(1), as: String.self).validate { content in
                if content.data == Data("bad".utf8) { throw Odd() }
            }
            fixture.script("/items/1", .fresh("good"), .fresh("bad"))
            _ = try await call.fetch()
            let both = await call.request().collected()
            #expect(both.emissions.map(\.value) == ["good"] && both.failure == .dataFormat)
            let stored = try await fixture.client.stored(Shop.item(1), as: String.self)
            #expect(stored?.value == "good")
        }
    }

    @Test func rejectedStatusDoesNotReplaceAnAcceptedOne() async throws {
        try await ScriptedClient.run { fixture in
            let call = fixture.client.call(Shop.item(1), as: String.self).accepting([203])
            let fields: HTTPFields = [.cacheControl: "max-age=60"]
            fixture.script("/items/1", .status(.nonAuthoritativeInformation, "yes", fields: fields), .fresh("no"))
            _ = try await call.fetch()
            await expect(.status) { _ = try await call.fetch(.networkOnly) }
            let stored = try await call.stored()
            #expect(stored?.value == "yes")
        }
    }

    @Test func endpointCanAcceptErrorStatuses() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .status(.notFound, "none"))
            let value = try await fixture.client.call(Shop.item(1), as: String.self).accepting(.any).fetch()
            #expect(value.value == "none" && value.status == .notFound)
        }
    }

    @Test func resultsComeToOneCallback() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh("1"), .status(.internalServerError))
            let call = fixture.client.call(Shop.item(1), as: String.self)
            let events = Events()
            for _ in 0..<2 {
                let subscription = call.results(onCompleted: { events.append("completed") }) { result in
                    switch result {
                    case .success(let emission): events.append(emission.source.rawValue)
                    case .failure(let error): events.append(error.code.description)
                    }
                }
                await subscription.finished()
            }
            #expect(events.all == ["network", "completed", "store", "status"])
        }
    }

    // In a mode without network, the missing result is not the only sign of the end.
    @Test func endWithoutAResultIsReported() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh("1"))
            let call = fixture.client.call(Shop.item(1), as: String.self)
            _ = try await call.fetch()
            fixture.client.mode = .offline
            let events = Events()
            let subscription = call.onCache { events.append("stored \($0.value)") }
                .results(onCompleted: { events.append("completed") }) { _ in events.append("result") }
            await subscription.finished()
            #expect(events.all == ["stored 1", "completed"])
        }
    }

    @Test func chainedRequestUsesTheFirstResponse() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh("7"))
            fixture.script("/items/7", .fresh("seven"))
            let client = fixture.client
            let chain = client.call(Shop.item(1), as: Int.self).request()
                .flatMap { id in client.call(Shop.item(id), as: String.self) }
            let emissions = await chain.collected().emissions
            #expect(emissions.map(\.value) == ["seven"])
        }
    }

    @Test func failedClientEnvelopeDoesNotReplaceGoodData() async throws {
        try await ScriptedClient.run(.init(envelope: Envelope())) { fixture in
            fixture.script(
                "/items/1",
                .fresh(#"{"code":0,"msg":"","data":{"id":1,"name":"lamp"}}"#),
                .fresh(#"{"code":7,"msg":"no lamps","data":null}"#)
            )
            let call = fixture.client.call(Shop.item(1), as: Item.self)
            _ = try await call.fetch()
            let both = await call.request().collected()
            #expect(both.emissions.map(\.value.name) == ["lamp"] && both.failure == .envelope)
            let stored = try await call.stored()
            #expect(stored?.value.name == "lamp")
        }
    }

    @Test func failedEnvelopeTypeDoesNotReplaceGoodData() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script(
                "/items/1",
                .fresh(#"{"code":0,"msg":"","data":{"id":1,"name":"lamp"}}"#),
                .fresh(#"{"code":7,"msg":"no lamps","data":null}"#)
            )
            let call = fixture.client.call(Shop.item(1), as: RootModel<Item>.self).validate()
            _ = try await call.fetch()
            let both = await call.request().collected()
            #expect(both.emissions.map(\.value?.name) == ["lamp"] && both.failure == .envelope)
            let stored = try await call.stored()
            #expect(stored?.value?.name == "lamp")
        }
    }

    @Test func mutationInvalidatesItsTargets() async throws {
        struct Rename: Endpoint {
            typealias Response = NoContent
            var baseURL: String { ScriptedClient.url }
            var path: String { "/names/1" }
            var method: HTTPRequest.Method { .post }
            var invalidates: [StoreInvalidation] { [.endpoint(Shop.item(1)), .prefix(ScriptedClient.url + "/lists")] }
        }
        try await ScriptedClient.run { fixture in
            let client = fixture.client
            fixture.script("/items/1", .fresh("1"))
            fixture.script("/lists/all", .fresh("2"))
            fixture.script("/items/2", .fresh("3"))
            fixture.script("/names/1", .status(.internalServerError), .status(.noContent))
            let stored = [
                Shop.item(1).call.map(String.self), fixture.get("/lists/all").call, Shop.item(2).call.map(String.self),
            ]
            for call in stored { _ = try await call.on(client).cache.fetch() }
            await expect(.status) { _ = try await client.fetch(Rename()) }
            func staleness() async throws -> [Bool?] {
                var all: [Bool?] = []
                for call in stored { all.append(try await call.on(client).cache.stored()?.isStale) }
                return all
            }
            #expect(try await staleness() == [false, false, false])
            _ = try await client.fetch(Rename())
            #expect(try await staleness() == [true, true, false])
        }
    }

    @Test func invalidPrefixInvalidatesNothingAndTheRestIsInvalidated() async throws {
        struct Rename: Endpoint {
            typealias Response = NoContent
            var baseURL: String { ScriptedClient.url }
            var path: String { "/names/1" }
            var method: HTTPRequest.Method { .post }
            var invalidates: [StoreInvalidation] { [.prefix("/lists?user=ada"), .endpoint(Shop.item(1))] }
        }
        let log = CapturedLog()
        try await ScriptedClient.run(logger: log.logger(.warning)) { fixture in
            let client = fixture.client
            fixture.script("/items/1", .fresh("1"))
            fixture.script("/lists/all", .fresh("2"))
            fixture.script("/names/1", .status(.noContent))
            let (item, list) = (Shop.item(1).call.map(String.self), fixture.get("/lists/all").call)
            _ = try await item.on(client).cache.fetch()
            _ = try await list.on(client).cache.fetch()
            _ = try await client.fetch(Rename())
            #expect(try await item.on(client).cache.stored()?.isStale == true)
            #expect(try await list.on(client).cache.stored()?.isStale == false)
        }
        let event = log.events.first { $0.message == "Prefix in 'invalidates' of an endpoint is invalid" }
        #expect(event?.metadata["endpoint"] == "Rename" && event?.metadata["reason"] == "unsupportedScheme")
        #expect(!log.text.contains("Store failed") && !log.text.contains("ada"), "\(log.text)")
    }
}
