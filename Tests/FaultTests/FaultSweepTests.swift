import FaultWorkload
import OfflineStore
import TestSupport
import Testing

#if os(Linux)
    /// Every file operation of a store fails once, in the store's own code and in SQLite's.
    /// Exchanges continue, nothing wrong is read, and the store recovers in the same process when
    /// the fault ends.
    ///
    /// Tests/FaultShim makes the faults. It is linked into `store-worker`, where it precedes the C
    /// library. It needs Linux with glibc, so these tests do not run on macOS. A normal run strikes
    /// every `stride`th operation, and `make crash` each one. Few operations can fail for lack of a
    /// descriptor, so these are always all struck.
    @Suite struct FaultSweepTests {
        struct Case: Sendable, CustomStringConvertible {
            var mode = "error"
            var error: String
            /// The file operations that fail in a row.
            var length = 1
            var stride: Int
            var isOld = false

            var description: String { "\(mode) \(error) × \(length), \(isOld ? "an old" : "a new") store" }

            static let all = [
                Case(error: "ENOSPC", stride: 7),
                Case(error: "EIO", stride: 11),
                Case(error: "EROFS", stride: 13),
                Case(error: "EMFILE", stride: 1),
                Case(error: "ENOSPC", length: 40, stride: 17),
                Case(error: "EIO", length: 40, stride: 19),
                Case(error: "EIO", stride: 13, isOld: true),
                Case(error: "EMFILE", length: 5, stride: 1, isOld: true),
                Case(mode: "short", error: "ENOSPC", length: 3, stride: 11),
            ]
        }

        @Test(arguments: Case.all)
        func storeRecoversAfterAnyFileOperationFailed(_ fault: Case) async throws {
            let folder = try TemporaryFolder(inMemory: true)
            let stride = Scale.isThorough ? 1 : fault.stride
            // Another seed has another first operation, so that many runs cover all.
            var from = 1 + Int(Scale.seed &* 7 % UInt64(stride))
            var struck = 0
            while true {
                let worker = WorkerProcess(
                    "sweep",
                    folder.path,
                    "\(Scale.seed)",
                    fault.mode,
                    fault.error,
                    "\(fault.length)",
                    "\(from)",
                    "\(stride)",
                    "200",
                    fault.isOld ? "old" : "new"
                )
                let ending = try await worker.run()
                struck += ending.lines.count { $0.hasPrefix("done") }
                let wrong = ending.lines.filter {
                    !["at", "done", "end", "more"].contains($0.split(separator: " ")[0])
                }
                #expect(wrong.isEmpty, "seed \(Scale.seed), \(fault)")
                guard ending.signal == 0, ending.status == 0 else {
                    Issue.record("\(fault): signal \(ending.signal) after '\(ending.lines.last ?? "")'")
                    return
                }
                let last = try #require(ending.lines.last?.split(separator: " "))
                if last[0] == "end" { break }
                from = try #require(Int(last[1]))
            }
            // Otherwise this would have tested nothing.
            #expect(struck > 5)
        }
    }

    /// The power fails at a file operation. Synced bytes stay; any part of the others may be lost
    /// or torn.
    ///
    /// Tests/FaultShim keeps the bytes that each write replaces, until the file is synced. When it
    /// strikes, it restores some of them, in units of 512 bytes. It also removes files whose folder
    /// was not synced since they were created.
    @Suite struct PowerCutTests {
        @Test(arguments: 0..<2)
        func promisedEntriesSurviveAPowerFailure(_ series: Int) async throws {
            let rounds = (Scale.rounds(40) + 1) / 2
            var cuts = 0
            for round in 0..<rounds {
                let seed = Scale.seed &* 1_000_000 &+ UInt64(series * 10_000 + round)
                var random = SeededRandom(seed: seed)
                var store = StoreInRounds(folder: try TemporaryFolder(inMemory: true), kind: .alone)
                // Twice, so that the second one finds a store that had a power cut.
                for again in 0..<2 {
                    let at = Int.random(in: 1..<(again == 0 ? 700 : 400), using: &random)
                    let worker = WorkerProcess(
                        "load",
                        store.path,
                        "\(seed + UInt64(again))",
                        "40",
                        "1",
                        "\(store.kind.budget)",
                        "cut",
                        "\(at)"
                    )
                    let ending = try await worker.run()
                    if ending.status == 77 { cuts += 1 }
                    let findings = await store.check(
                        ending,
                        seed: seed + UInt64(again),
                        count: 40,
                        powerFailed: true
                    )
                    #expect(findings.isEmpty, "seed \(seed), the power failed at file operation \(at), time \(again)")
                }
            }
            #expect(cuts > rounds)
        }
    }
#endif
