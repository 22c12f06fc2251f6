import HTTPCache
import HoldfastTesting
import Synchronization
import Testing

@testable import HoldfastGateway

/// Exchanges run on their connection's loop; what keeps a thread must not keep that.
@Suite("A store that is slow")
struct SlowStoreTests {
    private static let kept = "GET /kept HTTP/1.1\r\nHost: g\r\n\r\n"
    private static let fresh = "Cache-Control: max-age=60\r\n"

    /// Mutant: `awayFromLoops` that runs its operation where it is called.
    @Test("Keeps nobody but who needs it: in lookup, writing and reading", .timeLimit(.minutes(2)))
    func keepsNoLoop() async throws {
        let made = Mutex<BlockingStore?>(nil)
        try await RawOrigin.with([.ok("kept", fields: Self.fresh), .ok("slow", fields: Self.fresh)]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                wrapping: { store in
                    let blocking = BlockingStore(store)
                    made.withLock { $0 = blocking }
                    return blocking
                }
            ) { gateway in
                let store = try #require(made.withLock { $0 })
                _ = try await gateway.get("/kept")
                // The first is a miss (lookup, then writing), the second a hit from what would be the disk (lookup, then reading).
                for _ in 0..<2 {
                    try await RawClient.with(port: gateway.port) { client in
                        try await client.send("GET /slow HTTP/1.1\r\nHost: g\r\n\r\n")
                        let answered = Flag()
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            group.addTask {
                                let answer = try await client.response()
                                #expect(answer.text == "slow")
                                answered.isSet.store(true, ordering: .releasing)
                            }
                            while !answered.isSet.load(ordering: .acquiring) {
                                guard store.waitingCount > 0 else {
                                    await Task.yield()
                                    continue
                                }
                                // As many as there are loops, and more: each has somebody to answer.
                                for _ in 0..<4 {
                                    let hit = try await gateway.get("/kept")
                                    #expect(hit["Cache-Status"]?.contains("hit") == true)
                                }
                                store.letGo()
                            }
                            try await group.waitForAll()
                        }
                    }
                }
                #expect(store.lateCount == 0)
            }
        }
    }
}

private final class Flag: Sendable {
    let isSet = Atomic(false)
}
