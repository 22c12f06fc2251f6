import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// An application during an outage: what it shows, and what it says.
@Suite(.timeLimit(.minutes(20))) struct OutageScenarioTests {
    private struct Item: Codable, Sendable, Equatable { var id: Int }

    private struct GetItems: Endpoint {
        typealias Response = [Item]
        let baseURL = ScriptedClient.url
        var page = 1
        let path = "/items"
        var task: HTTPTask { .query(["page": .init(page)]) }
    }

    private struct AddItem: Endpoint {
        typealias Response = NoContent
        let baseURL = ScriptedClient.url
        let path = "/items"
        var task: HTTPTask { .json(["id": 3]) }
        var invalidates: [StoreInvalidation] { [.prefix(ScriptedClient.url + "/items")] }
    }

    private static let strict: HTTPFields = [.cacheControl: "max-age=1, must-revalidate", .eTag: "\"1\""]

    /// Each failure has its code and a text for people.
    @Test func codesTellOutagesApart() async throws {
        try await ScriptedClient.run { fixture async throws in
            let client = fixture.client
            fixture.script("/strict", .ok("1", fields: Self.strict))
            _ = try await client.fetch(fixture.get("/strict"))
            fixture.clock.advance(by: .seconds(5))
            fixture.transport.isReachable = false
            func error(_ endpoint: some Endpoint) async -> HoldfastError? {
                await failure { _ = try await client.fetch(endpoint, as: String.self) }
            }
            var errors: [HoldfastError?] = [await error(fixture.get("/new")), await error(fixture.get("/strict"))]
            errors.append(await error(AddItem()))
            #expect(errors.map { $0?.code } == [.originUnreachable, .staleForbidden, .originUnreachable])
            client.mode = .offline
            errors.append(await error(fixture.get("/new")))
            errors.append(await error(fixture.get("/strict")))
            errors.append(await error(AddItem()))
            #expect(errors.suffix(3).map { $0?.code } == [.offlineMiss, .staleForbidden, .offlineMiss])
            for error in errors {
                let plain: any Error = try #require(error)
                let text = plain.localizedDescription
                #expect(text == error?.errorDescription && !text.isEmpty && !text.contains("HoldfastError"), "\(text)")
            }
            // Without a probe, which would be on the test's clock.
            (client.mode, fixture.transport.isReachable) = (.online, true)
            fixture.clock.advance(by: .seconds(1))
            fixture.script("/strict", .notModified(Self.strict))
            #expect(try await client.fetch(fixture.get("/strict")).value == "1")
        }
    }

    /// The API changes, and the list that can be read stays until it can be read again.
    @Test func unreadableResponseLeavesTheList() async throws {
        try await ScriptedClient.run { fixture async throws in
            let url = "/items?page=1"
            fixture.script(url, .ok(#"[{"id":1}]"#, fields: [.cacheControl: "max-age=1"]))
            _ = try await fixture.client.fetch(GetItems())
            fixture.clock.advance(by: .seconds(5))
            for _ in 1...3 { fixture.script(url, .fresh(#"[{"id":"one"}]"#)) }
            let shown = try await fixture.client.fetch(GetItems(), .networkFirst)
            #expect(shown.value == [Item(id: 1)] && shown.isStale)
            let error = await failure { _ = try await fixture.client.fetch(GetItems(), .networkOnly) }
            #expect(error?.code == .decodingFailed && error?.codingPath == "[0].id")
            let stream = await fixture.client.startWith(GetItems()).collected()
            #expect(stream.emissions.map(\.value) == [[Item(id: 1)]] && stream.failure == .decodingFailed)
            fixture.transport.isReachable = false
            #expect(try await fixture.client.fetch(GetItems()).value == [Item(id: 1)])
            (fixture.client.mode, fixture.transport.isReachable) = (.online, true)
            // An origin that failed is not contacted at the same moment.
            fixture.clock.advance(by: .seconds(1))
            fixture.script(url, .fresh(#"[{"id":2}]"#))
            #expect(try await fixture.client.fetch(GetItems(), .networkFirst).value == [Item(id: 2)])
        }
    }

    /// An expired token and an unreachable token server are part of the outage.
    @Test func expiredTokenShowsWhatIsStored() async throws {
        let clock = ManualClock()
        let unreachable = TransportError(code: .connect, message: "refused")
        let source = ScriptedTokens([.failure(unreachable), .success(AccessToken("t2"))])
        let authenticator = try TokenAuthenticator(
            source,
            token: AccessToken("t1", expiresAt: clock.now().adding(milliseconds: 60_000)),
            principal: "ada",
            clock: clock,
            sleeper: ManualDurationClock()
        )
        try await ScriptedClient.run(clock: clock, .init(plugins: [authenticator])) { fixture async throws in
            fixture.script("/items?page=1", .ok(#"[{"id":1}]"#, fields: [.cacheControl: "max-age=60, private"]))
            _ = try await fixture.client.fetch(GetItems())
            clock.advance(by: .seconds(3600))
            fixture.transport.isReachable = false
            let shown = try await fixture.client.fetch(GetItems())
            #expect(shown.value == [Item(id: 1)] && shown.isStale && shown.outcome.detail == .unreachable)
            await expect(.originUnreachable) { _ = try await fixture.client.fetch(GetItems(page: 2)) }
            let stream = await fixture.client.startWith(GetItems(), ifNetworkFails: .endingQuietly).collected()
            #expect(stream.emissions.map(\.source) == [.store] && stream.failure == nil)
            // During the pause, the source was not called again.
            #expect(source.asked == ["t1"])
        }
    }

    /// Pages are read together, changed by a mutation, and still there without a network.
    @Test func pagesOutliveAMutationAndTheNetwork() async throws {
        try await ScriptedClient.run { fixture async throws in
            let client = fixture.client
            let link = try #require(HTTPField.Name("Link"))
            let next: HTTPFields = [.cacheControl: "max-age=60", link: "</items?page=2>; rel=\"next\""]
            fixture.script("/items?page=1", .ok(#"[{"id":1}]"#, fields: next), .ok(#"[{"id":3}]"#, fields: next))
            fixture.script("/items?page=2", .fresh(#"[{"id":2}]"#))
            let pages = try await client.fetch(all: [GetItems(), GetItems(page: 2)]).map { try $0.get() }
            #expect(pages.map(\.value) == [[Item(id: 1)], [Item(id: 2)]])
            fixture.transport.script(ScriptedClient.url + "/items", method: .post, .status(.created))
            _ = try await client.fetch(AddItem())
            #expect(try await client.fetch(GetItems()).value == [Item(id: 3)])
            fixture.transport.isReachable = false
            let again = try await client.fetch(all: [GetItems(), GetItems(page: 2)], .networkFirst)
            let stored = try again.map { try $0.get() }
            #expect(stored.map(\.value) == [[Item(id: 3)], [Item(id: 2)]])
            // The way to the next page is stored with the page; the invalidated page is marked.
            #expect(stored[0].fields[link]?.contains("page=2") == true)
            #expect(stored.map(\.isStale) == [false, true])
        }
    }
}
