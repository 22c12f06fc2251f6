import Foundation
import HoldfastTesting
import TestSupport
import Testing

@testable import Holdfast

/// Redirects and what they lead to, in the store.
@Suite(.timeLimit(.minutes(20))) struct RedirectStoreTests {
    private struct Number: Endpoint {
        typealias Response = Int
        let baseURL = ScriptedClient.url
        var path = "/from"
    }

    private static let html = ScriptedTransport.Reply.ok("<html>", fields: [.contentType: "text/html"])

    /// A redirect and its target are stored.
    private func run(
        _ redirect: ScriptedTransport.Reply = .redirect(301, to: "/to", maxAge: 60),
        _ configuration: CachingClient.Configuration = .init(),
        _ body: (ScriptedClient) async throws -> Void
    ) async throws {
        try await ScriptedClient.run(configuration) { fixture in
            fixture.script("/from", redirect)
            fixture.script("/to", .fresh("1"))
            #expect(try await fixture.client.fetch(Number()).value == 1)
            try await body(fixture)
        }
    }

    @Test(arguments: [OfflineMode.offline, .automatic]) func storedChainIsServedWithoutANetwork(mode: OfflineMode)
        async throws
    {
        try await run { fixture in
            fixture.clock.advance(by: .seconds(3600))
            fixture.client.mode = mode
            fixture.transport.isReachable = false
            let emission = try await fixture.client.fetch(Number())
            #expect(emission.value == 1 && emission.source == .store && emission.isStale)
            #expect(try await fixture.client.stored(Number())?.value == 1)
        }
    }

    @Test func storedEmissionComesFirstThenTheNetworks() async throws {
        try await run { fixture in
            fixture.script("/from", .redirect(301, to: "/to", maxAge: 60))
            fixture.script("/to", .fresh("2"))
            let (emissions, failure) = await fixture.client.startWith(Number()).collected()
            #expect(emissions.map(\.value) == [1, 2] && emissions.map(\.source) == [.store, .network])
            #expect(failure == nil && fixture.paths(since: 2) == ["/from", "/to"])
        }
    }

    @Test func callbacksGetBothValues() async throws {
        try await run { fixture in
            fixture.script("/from", .redirect(301, to: "/to", maxAge: 60))
            fixture.script("/to", .fresh("2"))
            let events = Events()
            let subscription = fixture.client.onCache(Number()) { events.append("stored \($0.value)") }
                .request { events.append("fresh \($0.value)") }
            await subscription.finished()
            #expect(events.all == ["stored 1", "fresh 2"])
        }
    }

    @Test func batchFollowsEachRedirect() async throws {
        try await ScriptedClient.run { fixture in
            for number in 0..<30 {
                fixture.always("/\(number)", .redirect(307, to: "/to/\(number)"))
                fixture.always("/to/\(number)", .fresh("\(number)"))
            }
            let endpoints = (0..<30).map { Number(path: "/\($0)") }
            let results = try await fixture.client.fetch(all: endpoints)
            #expect(try results.map { try $0.get().value } == Array(0..<30))
        }
    }

    @Test func targetThatIsNotStoredIsNamed() async throws {
        try await ScriptedClient.run { fixture in
            fixture.always("/from", .redirect(301, to: "https://b.example/to", maxAge: 60))
            fixture.always("https://b.example/to", .ok("1", fields: [.cacheControl: "no-store"]))
            _ = try await fixture.client.fetch(Number())
            fixture.client.mode = .offline
            let error = await #expect(throws: HoldfastError.self) { _ = try await fixture.client.fetch(Number()) }
            #expect(error?.code == .offlineMiss)
            #expect(error?.message.contains("stored for 'https://b.example/to'") == true, "\(error?.message ?? "")")
            #expect(error?.message.contains("'https://a.example/from' → 'https://b.example/to'") == true)
            #expect(try await fixture.client.stored(Number()) == nil)
        }
    }

    @Test func staleRedirectMakesTheValueStale() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/from", .redirect(301, to: "/to", maxAge: 10))
            fixture.script("/to", .ok("1", fields: [.cacheControl: "max-age=600"]))
            _ = try await fixture.client.fetch(Number())
            #expect(try await fixture.client.stored(Number())?.isStale == false)
            fixture.clock.advance(by: .seconds(11))
            #expect(try await fixture.client.stored(Number())?.isStale == true)
            #expect(try await fixture.client.fetch(Number(path: "/to")).isStale == false)
        }
    }

    @Test func storedLoopIsAskedAnew() async throws {
        try await ScriptedClient.run { fixture in
            // '/a' moved to '/b' for good, and later back.
            fixture.script("/a", .redirect(301, to: "/b", maxAge: 86_400))
            fixture.script("/b", .ok("1", fields: [.cacheControl: "max-age=1"]))
            _ = try await fixture.client.fetch(Number(path: "/a"))
            fixture.clock.advance(by: .seconds(2))
            fixture.script("/b", .redirect(301, to: "/a", maxAge: 86_400))
            fixture.script("/a", .fresh("2"))
            #expect(try await fixture.client.fetch(Number(path: "/a")).value == 2)
            #expect(fixture.paths() == ["/a", "/b", "/b", "/a"])
            #expect(try await fixture.client.fetch(Number(path: "/a")).source == .store)
        }
    }

    @Test func storedRedirectToItselfIsAMissWithoutANetwork() async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.always("/from", .redirect(301, to: "/from", maxAge: 60))
            await expect(.redirectFailed) { _ = try await fixture.client.fetch(Number()) }
            fixture.client.mode = .offline
            await expect(.redirectFailed) { _ = try await fixture.client.fetch(Number()) }
            #expect(try await fixture.client.stored(Number()) == nil)
        }
    }

    // MARK: Replacing stored responses

    /// A captive portal redirects to its page. Neither replaces the stored response.
    @Test(arguments: [301, 302, 307], [nil, 600]) func captivePortalReplacesNothing(status: Int, maxAge: Int?)
        async throws
    {
        try await ScriptedClient.run { fixture in
            fixture.script("/from", .fresh("1"))
            _ = try await fixture.client.fetch(Number())
            fixture.clock.advance(by: .seconds(61))
            fixture.always("/from", .redirect(status, to: "https://portal.example/login", maxAge: maxAge))
            fixture.always("https://portal.example/login", Self.html)
            for _ in 0..<2 {
                let emission = try await fixture.client.fetch(Number())
                #expect(emission.value == 1 && emission.source == .store && emission.isStale)
                #expect(emission.outcome.detail == .guarded)
            }
            fixture.client.mode = .offline
            #expect(try await fixture.client.fetch(Number()).value == 1)
        }
    }

    @Test func portalsPageDoesNotReplaceBytes() async throws {
        try await ScriptedClient.run { fixture in
            let fields: HTTPFields = [.cacheControl: "max-age=60", .contentType: "text/plain"]
            fixture.script("/from", .ok("text", fields: fields))
            _ = try await fixture.client.fetch(Moving())
            fixture.clock.advance(by: .seconds(61))
            fixture.always("/from", .redirect(302, to: "https://portal.example/login"))
            fixture.always("https://portal.example/login", Self.html)
            let emission = try await fixture.client.fetch(Moving())
            #expect(emission.value == "text" && emission.outcome.detail == .guarded)
            // Who wants the network alone gets what it sent.
            #expect(try await fixture.client.fetch(Moving(), .networkOnly).value == "<html>")
        }
    }

    @Test func unreachableTargetLeavesTheStoredValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/from", .fresh("1"))
            _ = try await fixture.client.fetch(Number())
            fixture.clock.advance(by: .seconds(61))
            fixture.always("/from", .redirect(to: "https://b.example/to"))
            fixture.always("https://b.example/to", .failure(.connect))
            let emission = try await fixture.client.fetch(Number())
            #expect(emission.value == 1 && emission.outcome.detail == .unreachable)
            await expect(.originUnreachable) { _ = try await fixture.client.fetch(Number(), .networkOnly) }
        }
    }

    @Test func loopLeavesTheStoredValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/from", .fresh("1"))
            _ = try await fixture.client.fetch(Number())
            fixture.clock.advance(by: .seconds(61))
            fixture.always("/from", .redirect(to: "/from"))
            let emission = try await fixture.client.fetch(Number())
            #expect(emission.value == 1 && emission.outcome.detail == .guarded)
        }
    }

    /// A resource that moved: once its new place is stored and readable, the redirect replaces the
    /// old response.
    @Test func redirectReplacesAResponseOnceItsTargetIsStored() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/from", .fresh("1"))
            _ = try await fixture.client.fetch(Number())
            fixture.always("/from", .redirect(301, to: "/to", maxAge: 60))
            fixture.always("/to", .fresh("2"))
            for offline in [1, 2] {
                fixture.client.mode = .automatic
                fixture.clock.advance(by: .seconds(61))
                #expect(try await fixture.client.fetch(Number()).value == 2)
                fixture.client.mode = .offline
                #expect(try await fixture.client.fetch(Number()).value == offline)
            }
        }
    }

    /// No call follows a redirect that came in the background.
    @Test func redirectInTheBackgroundReplacesAResponseToo() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/from", .fresh("1"))
            _ = try await fixture.client.fetch(Number())
            fixture.clock.advance(by: .seconds(61))
            fixture.always("/from", .redirect(301, to: "/to", maxAge: 60))
            fixture.always("/to", .fresh("2"))
            // The second request stores the target, and the third one the redirect.
            for (count, value) in [(3, 1), (4, 1), (4, 2)] {
                #expect(try await fixture.client.fetch(Number(), .staleWhileRevalidate).value == value)
                await fixture.transport.waitForRequests(count)
                while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            }
            #expect(fixture.paths() == ["/from", "/from", "/to", "/from"])
        }
    }

    // MARK: Settings of the endpoint

    @Test(arguments: [301, 302, 303, 307, 308]) func ownLifetimeAppliesToTheRedirectToo(status: Int) async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.always("/from", .redirect(status, to: "/to"))
            fixture.always("/to", .ok("value"))
            let endpoint = Moving(storage: .expiring(.after(.seconds(600))))
            for _ in 0..<2 { #expect(try await fixture.client.fetch(endpoint).value == "value") }
            #expect(fixture.paths() == ["/from", "/to"])
            // Without following, a redirect has no lifetime of the caller's.
            var never = endpoint
            never.path = "/never"
            never.redirects = .never
            fixture.always("/never", .redirect(status, to: "/to"))
            for _ in 0..<2 { await expect(.status) { _ = try await fixture.client.fetch(never) } }
            #expect(fixture.paths(since: 2) == ["/never", "/never"])
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308], [nil, "no-store", "max-age=0, private, must-revalidate"])
    func redirectIsKeptForOfflineReads(status: Int, directives: String?) async throws {
        try await ScriptedClient.run { fixture async throws in
            var fields = HTTPFields()
            fields[.cacheControl] = directives
            fixture.always("/from", .redirect(status, to: "/to", fields))
            fixture.always("/to", .ok("value", fields: fields))
            let endpoint = Moving(offlineReads: .despiteDirectives)
            for _ in 0..<2 { #expect(try await fixture.client.fetch(endpoint).value == "value") }
            // While the origin is reachable, it is asked.
            #expect(fixture.paths() == ["/from", "/to", "/from", "/to"])
            fixture.client.mode = .offline
            #expect(try await fixture.client.fetch(endpoint).value == "value")
        }
    }

    @Test func logSaysWhyARedirectIsNotStored() async throws {
        let log = CapturedLog()
        try await ScriptedClient.run(logger: log.logger(.info)) { fixture in
            fixture.always("/from", .redirect(302, to: "/to"))
            fixture.always("/to", .fresh("value"))
            for _ in 0..<2 { _ = try await fixture.client.fetch(Moving()) }
            let lines = log.lines.filter { $0.hasPrefix("Response was not stored") }
            #expect(lines.count == 1 && lines[0].contains("'storage'") && lines[0].contains("endpoint=Moving"))
        }
    }

    @Test func sharedResponseIsReusedAfterARedirect() async throws {
        try await ScriptedClient.run { fixture in
            fixture.always("/from", .redirect(to: "/to"))
            fixture.always("/to", .ok("1", fields: [.cacheControl: "no-store"]))
            let call = fixture.client.call(Number()).with { $0.reuseWithin = .seconds(60) }
            let sources = [try await call.fetch().source, try await call.fetch().source]
            #expect(sources == [.network, .store] && fixture.paths() == ["/from", "/to"])
        }
    }

    // MARK: Changes

    @Test func streamSeesChangesOfTheTarget() async throws {
        try await run { fixture in
            fixture.script("/from", .redirect(301, to: "/to", maxAge: 60))
            fixture.script("/to", .fresh("1"), .fresh("2"))
            let call = fixture.client.call(Number()).with { $0.followsStore = true }
            var iterator = call.request().makeAsyncIterator()
            for source in [CacheResponse.Source.store, .network] {
                let emission = try await iterator.next()
                #expect(emission?.value == 1 && emission?.source == source)
            }
            _ = try await fixture.client.fetch(Number(path: "/to"), .networkOnly)
            #expect(try await iterator.next()?.value == 2)
        }
    }

    @Test func updateChangesTheTarget() async throws {
        try await run { fixture async throws in
            #expect(try await fixture.client.update(Number()) { $0 = 7 }.value == 7)
            #expect(try await fixture.client.stored(Number())?.value == 7)
            #expect(try await fixture.client.stored(Number(path: "/to"))?.value == 7)
        }
    }

    @Test func invalidationReachesTheTarget() async throws {
        try await run { fixture in
            try await fixture.client.invalidate(Number())
            #expect(try await fixture.client.stored(Number(path: "/to"))?.isStale == true)
            fixture.script("/from", .redirect(301, to: "/to", maxAge: 60))
            fixture.script("/to", .fresh("2"))
            #expect(try await fixture.client.fetch(Number()).value == 2)
        }
    }

    @Test func removalReachesTheTarget() async throws {
        try await run { fixture in
            try await fixture.client.remove(Number())
            #expect(try await fixture.client.stored(Number(path: "/to")) == nil)
            #expect(try await fixture.store.statistics().responses == 0)
        }
    }

    /// Another user's redirect, and what it leads to, stay hers.
    @Test(arguments: ["https://a.example/to", "https://b.example/to"])
    func principalsAreKeptApartAtEachHop(target: String) async throws {
        try await ScriptedClient.run { fixture async throws in
            struct Mine: Endpoint {
                typealias Response = String
                let baseURL = ScriptedClient.url
                let path = "/from"
                let principal: String
            }
            for name in ["ada", "bob"] {
                fixture.script("/from", .redirect(307, to: target, maxAge: 60))
                fixture.transport.script(target, .fresh(name))
            }
            for name in ["ada", "bob"] {
                #expect(try await fixture.client.fetch(Mine(principal: name)).value == name)
            }
            fixture.client.mode = .offline
            for name in ["ada", "bob"] {
                #expect(try await fixture.client.fetch(Mine(principal: name)).value == name)
            }
            await expect(.offlineMiss) { _ = try await fixture.client.fetch(Mine(principal: "eve")) }
            await expect(.offlineMiss) {
                _ = try await fixture.client.get(target, as: String.self)
            }
        }
    }
}
