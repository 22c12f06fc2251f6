import FaultWorkload
import OfflineStore
import TestSupport
import Testing

#if os(Linux)
    /// The power of a node fails, at any of the file operations with which it purges.
    ///
    /// Its own purges are durable when they are acknowledged. Those of other nodes are in force
    /// before they are durable: the node reads those again that it has lost, and none of its
    /// responses becomes doubtful.
    @Suite struct SharingFaultTests {
        @Test(arguments: 0..<4)
        func ownPurgesSurviveAndOthersAreReadAgain(_ series: Int) async throws {
            var at = 1 + series
            var cuts = 0
            while true {
                let folder = try TemporaryFolder(inMemory: true)
                let seed = Scale.seed &* 1_000_000 &+ UInt64(at)
                let ending = try await WorkerProcess("share", folder.store, "\(at)", "\(seed)").run()
                #expect(ending.lines.filter { $0.hasPrefix("wrong") } == [], "at \(at)")
                if ending.lines.last == "end" { break }
                #expect(ending.status == 77, "at \(at): \(ending)")
                cuts += 1
                let store = try await CacheManager.openForFaults(folder.store)
                let workload = SharingWorkload(store)
                let findings = try await workload.findings(ending.lines)
                #expect(findings == [], "seed \(seed), the power failed at file operation \(at)")
                try await store.close()
                at += Scale.isThorough ? 4 : 12
            }
            // Otherwise this would have tested nothing.
            #expect(cuts > 5)
        }
    }
#endif
