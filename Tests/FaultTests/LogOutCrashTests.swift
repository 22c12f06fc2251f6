import FaultWorkload
import Foundation
import HTTPCacheSemantics
import OfflineStore
import TestSupport
import Testing

#if os(Linux)
    /// A process is killed while it removes everything of one of three principals, under load. It
    /// needs the fault shim.
    @Suite(.timeLimit(.minutes(20))) struct LogOutCrashTests {
        private static let count = 6

        /// Killed before each file operation, and in the middle of each write. The others' entries
        /// that were acknowledged are there; hers are all there or none, and none after the
        /// acknowledgement.
        @Test(arguments: ["kill", "torn"], ["erasing", "plain"])
        func killedLogOutLeavesAllOrNothingOfOneAndAllOfTheOthers(_ mode: String, _ erasing: String) async throws {
            var (at, isOver, unfinished) = (1, false, 0)
            while !isOver {
                let folder = try TemporaryFolder(inMemory: true)
                let worker = WorkerProcess("logout", folder.store, "\(Self.count)", erasing, mode, "\(at)")
                let ending = try await worker.run()
                isOver = ending.signal != 9
                #expect(isOver == (ending.lines.last == "end"), "\(ending.lines)")
                #expect(ending.lines.contains("filled") && !ending.lines.contains { $0.hasPrefix("failed") })
                if !ending.lines.contains("removed") { unfinished += 1 }
                // A process that reads alone sees the same as the one that finishes the removal.
                let reader = try await CacheManager.openReadOnly(at: folder.store, clock: FixedClock())
                let seen = try await check(reader, ending, "at \(at), before the next writer")
                try await reader.close()
                let store = try await CacheManager.openForFaults(folder.store, isErasing: erasing == "erasing")
                #expect(try await check(store, ending, "at \(at)") == seen)
                // Her rows are hidden at once, and removed in slices.
                try await store.settle()
                try await store.close()
                if erasing == "erasing", seen.isEmpty {
                    // The encoding of her name in a key, and the beginning of an object's key.
                    for text in ["\u{4}ada", "ada/"] {
                        #expect(try files(in: folder.store, with: text) == [], "at \(at)")
                    }
                }
                #expect(DatabaseAudit.findings(folder.store + "/0001.sqlite").isEmpty)
                at += Scale.isThorough ? 1 : 7
            }
            // Otherwise this would have tested nothing.
            #expect(at > 30 && unfinished > 1)
        }

        private func files(in folder: String, with text: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder).filter {
                try Data(contentsOf: URL(fileURLWithPath: folder + "/" + $0)).contains(Array(text.utf8))
            }
        }

        /// - Returns: what is left of hers.
        private func check(
            _ store: CacheManager,
            _ ending: WorkerProcess.Ending,
            _ comment: Comment
        ) async throws -> Set<String> {
            var (responses, objects): (Set<String>, Set<String>) = ([], [])
            for try await entry in store.entries() {
                switch entry.key {
                case .response(let key):
                    guard case .principal(let name) = key.components.partition else { continue }
                    responses.insert(name + key.components.target.path)
                case .object(let key): objects.insert(key)
                default: Issue.record(comment)
                }
            }
            for name in ["bob", "eve"] {
                let later = ending.lines.filter { $0.hasPrefix("put \(name) ") }.map { $0.dropFirst("put bob ".count) }
                let expected = Set(
                    ((0..<Self.count).map { "\($0)" } + later.map { String($0) }).map { "\(name)/\($0)" }
                )
                #expect(expected.isSubset(of: responses), comment)
                #expect(expected.isSubset(of: objects), comment)
            }
            let hers = Set((0..<Self.count).map { "ada/\($0)" })
            let (ofResponses, ofObjects) = (
                responses.filter { $0.hasPrefix("ada/") }, objects.filter { $0.hasPrefix("ada/") }
            )
            if ending.lines.contains("removed") {
                #expect(ofResponses.isEmpty, comment)
            } else {
                #expect(ofResponses.isEmpty || hers.isSubset(of: ofResponses), comment)
                #expect(ofObjects == hers, comment)
            }
            #expect(ofObjects.isEmpty || (ofObjects == hers && !ending.lines.contains("erased")), comment)
            return ofResponses.union(ofObjects.map { "object " + $0 })
        }
    }
#endif
