import Dispatch
import Foundation
import HTTPCache
import TestSupport
import Testing

@testable import HoldfastGateway
@testable import OfflineStore

/// Responses are stored from their connection's loop. Only the store's own thread waits for the
/// disk.
@Suite(.timeLimit(.minutes(20)))
struct SuspendingWritesTests {
    /// Mutants: a write that runs on its caller's thread; `suspendsWhileWriting` for a store
    /// whose writer blocks.
    @Test func blockedWriterBlocksNoLoop() async throws {
        let folder = try TemporaryFolder()
        let manager = try await CacheManager.open(at: folder.store)
        let writer = try #require(try manager.core.database().writer)
        let (isHeld, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let held = Thread {
            try? writer.withConnection { _ in
                isHeld.signal()
                mayGoOn.wait()
            }
        }
        held.start()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                isHeld.wait()
                continuation.resume()
            }
        }
        let stored = RawOrigin.Step.ok("stored", fields: "Cache-Control: max-age=60\r\n")
        let passed = RawOrigin.Step.ok("passed", fields: "Cache-Control: no-store\r\n")
        try await RawOrigin.with(Array(repeating: stored, count: 8) + Array(repeating: passed, count: 8)) { origin in
            try await RunningGateway.with(origin: origin.url, wrapping: { _ in manager.responses }) { gateway in
                // Otherwise, the gateway of a failed test would wait for the writer when it ends.
                defer { mayGoOn.signal() }
                // On every loop a request waits for the commit, and has the content already.
                let storing = (0..<8).map { number in Task { try await gateway.get("/\(number)").text } }
                for task in storing {
                    let text = try await task.value
                    #expect(text == "stored")
                }
                for number in 0..<8 {
                    let passed = try await gateway.get("/pass/\(number)")
                    #expect(passed.text == "passed")
                }
                let committed = try await manager.statistics().responses
                #expect(committed == 0)
                mayGoOn.signal()
                await gateway.engine.shutDown()
            }
        }
        #expect(try await manager.statistics().responses == 8)
        try await manager.close()
    }
}
