import HTTPCache
import HoldfastTesting
import Synchronization
import Testing

@testable import HoldfastGateway

/// Exchanges run on their connection's loop. A store that waits for its disk must not block that
/// loop's other connections.
@Suite(.timeLimit(.minutes(20))) struct StoreThreadTests {
    /// It looks up, writes, reads and freshens on other threads.
    /// Mutant: `ExecutionContext.perform` that runs its operation on the calling thread.
    @Test func storeNeverWorksOnAnEventLoop() async throws {
        let made = Mutex<WatchedStore?>(nil)
        let first = RawOrigin.Step.ok("stored", fields: "Cache-Control: max-age=60\r\nETag: \"1\"\r\n")
        let renewed = RawOrigin.Step.response("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n")
        try await RawOrigin.with([first, renewed]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                hasResidentBodies: false,
                wrapping: { store in
                    let watched = WatchedStore(store)
                    made.withLock { $0 = watched }
                    return watched
                }
            ) { gateway in
                let store = try #require(made.withLock { $0 })
                #expect(try await gateway.get("/a").text == "stored")
                // The client has all bytes shortly before the store has committed them.
                while !store.operations.contains("finish"), !Task.isCancelled { await Task.yield() }
                // In as many pieces as the origin's response arrived in.
                #expect(Set(store.operations).isSuperset(of: ["lookup", "beginWrite", "append", "finish"]))
                let hit = try await gateway.get("/a")
                #expect(hit["Cache-Status"] == "holdfast; hit; ttl=60")
                #expect(hit.text == "stored")
                #expect(store.operations.suffix(2).contains("chunk"))
                let validated = try await gateway.get("/a", fields: "Cache-Control: no-cache\r\n")
                #expect(validated["Cache-Status"]?.contains("fwd-status=304") == true)
                #expect(store.operations.contains("freshen"))
                #expect(store.operationsOnLoops == [])
            }
        }
    }
}
