import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import Testing

/// What a hostile reading of the engine found: each claim failed once.
@Suite(.timeLimit(.minutes(1))) struct ReviewTests {
    private let url = EngineFixture.url

    /// Mutant: collapsed callers are given the origin's head as it came.
    @Test(arguments: [(CacheKind.shared, "private=\"set-cookie\", public"), (.private, "no-cache=\"set-cookie\"")])
    func aFieldForOneIsNotTheCollapsedCallers(kind: CacheKind, directive: String) async throws {
        let fixture = EngineFixture(kind: kind)
        let gate = Gate()
        let fields: HTTPFields = [.cacheControl: "max-age=60, " + directive, .setCookie: "sid=ann"]
        fixture.transport.script(url, .ok("one", fields: fields, beforeEnd: gate))
        let leader = try await fixture.engine.respond(to: fixture.request())
        fixture.clock.advance(by: .seconds(5))
        let follower = try await fixture.engine.respond(to: fixture.request())
        gate.open()
        #expect(follower.outcome.isCollapsed)
        #expect(leader.head.headerFields[.setCookie] == "sid=ann")
        #expect(!follower.head.headerFields.contains(.setCookie))
        #expect(follower.head.headerFields[.age] == "5")
    }
}
