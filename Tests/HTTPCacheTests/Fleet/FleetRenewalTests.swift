import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

/// A response that is renewed after it was served stale: once for all nodes.
@Suite(.timeLimit(.minutes(20))) struct FleetRenewalTests {
    typealias Node = FleetResponsesTests.Node

    private static let renewed: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=600"]

    /// A node whose response is stale, and may be served while it is renewed.
    private func staleNode(_ others: FleetResponsesTests.OtherNodes = .init()) async throws -> Node {
        let node = Node(others)
        node.transport.script(EngineFixture.url, .ok("old", fields: Self.renewed))
        _ = try await node.get()
        // While its fetch has not ended, nothing is renewed.
        while node.engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        node.clock.advance(by: .seconds(90))
        others.state.withLock { $0.queries = [] }
        return node
    }

    /// Waits until another response is stored, and for the end of what stored it.
    private func untilRenewed(_ node: Node) async throws -> String {
        let key = try #require(node.engine.key(for: try node.request())?.inPartition(.common))
        while true {
            for response in try await node.store.lookup(key) {
                guard let body = try await node.store.openBody(of: response) else { continue }
                let text = String(buffer: try await body.collect(upTo: 1 << 20))
                guard text != "old" else { continue }
                await node.engine.shutDown()
                return text
            }
            await Task.yield()
        }
    }

    @Test func responseOfAnotherNodeRenewsWithoutTheOrigin() async throws {
        let node = try await staleNode()
        try node.elsewhere("theirs", Self.renewed)
        node.transport.script(EngineFixture.url, .ok("new", fields: Self.renewed))
        #expect(try await node.get().text == "old")
        #expect(try await untilRenewed(node) == "theirs")
        #expect(node.transport.requests.count == 1)
        #expect(node.offers.count == 1, "only its own response is offered")
    }

    @Test func originIsAskedUnderTheLeaseIfNobodyHasANewerOne() async throws {
        let node = try await staleNode()
        node.others.state.withLock { $0.lease = 9 }
        node.transport.script(EngineFixture.url, .ok("new", fields: Self.renewed))
        #expect(try await node.get().text == "old")
        #expect(try await untilRenewed(node) == "new")
        #expect(node.offers.map { $0.lease?.number } == [nil, 9] && node.released.isEmpty)
    }

    @Test func manyStaleHitsLookOnce() async throws {
        let gate = Gate()
        let node = try await staleNode()
        try node.elsewhere("theirs", Self.renewed)
        node.others.hold(at: gate)
        for _ in 0..<30 { #expect(try await node.get().text == "old") }
        gate.open()
        #expect(try await untilRenewed(node) == "theirs")
        #expect(node.queries == 1 && node.transport.requests.count == 1)
    }

    @Test func nodeThatDoesNotFollowAsksTheOrigin() async throws {
        let node = try await staleNode()
        try node.elsewhere("theirs", Self.renewed)
        node.others.state.withLock { $0.position = nil }
        node.transport.script(EngineFixture.url, .ok("new", fields: Self.renewed))
        #expect(try await node.get().text == "old")
        #expect(try await untilRenewed(node) == "new")
        #expect(node.queries == 0)
    }
}
