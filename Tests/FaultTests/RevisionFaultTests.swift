import FaultWorkload
import OfflineStore
import TestSupport
import Testing

#if os(Linux)
    /// A process that moves stored responses to other keys is killed, or loses its power or its
    /// disk, at any of its file operations. Nothing is lost but responses that newer ones replace,
    /// and another process finishes the revision.
    @Suite struct RevisionFaultTests {
        /// Makes a store to revise; it is filled once, and copied.
        private static func filled() async throws -> TemporaryFolder {
            let folder = try TemporaryFolder(inMemory: true)
            let store = try await CacheManager.openForFaults(folder.store)
            try await RevisionWorkload.fill(store)
            try await store.close()
            return folder
        }

        @Test(arguments: [("kill", 181), ("torn", 191), ("cut", 223), ("error", 131)])
        func interruptedRevisionIsFinishedByTheNext(_ mode: String, _ stride: Int) async throws {
            let template = try await Self.filled()
            var at = 1
            var struck = 0
            while true {
                let folder = try TemporaryFolder(inMemory: true)
                try copyFolder(template.store, to: folder.store)
                let ending = try await WorkerProcess("revise", folder.store, mode, "\(at)").run()
                let last = ending.lines.last ?? "nothing"
                #expect(ending.lines.filter { $0.hasPrefix("wrong") } == [], "\(mode) at \(at)")
                if last.hasPrefix("end 0 ") { break }
                struck += 1
                if mode == "error" {
                    #expect(last.hasPrefix("end"), "\(mode) at \(at)")
                } else {
                    #expect(ending.signal == 9 || ending.status == 77, "\(mode) at \(at): \(last), \(ending)")
                    let store = try await CacheManager.openForFaults(folder.store)
                    #expect(try await RevisionWorkload.findings(store, isFinished: false) == [], "\(mode) at \(at)")
                    _ = try await store.reviseResponses(RevisionWorkload.revising)
                    #expect(try await RevisionWorkload.findings(store, isFinished: true) == [], "\(mode) at \(at)")
                    try await store.close()
                }
                let verification = try await CacheManager.verify(at: folder.store, isFull: true)
                #expect(verification.findings == [], "\(mode) at \(at)")
                at += Scale.isThorough ? 1 : stride
            }
            // Otherwise this would have tested nothing.
            #expect(struck > 5)
        }
    }
#endif
