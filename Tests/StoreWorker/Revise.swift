import FaultShim
import FaultWorkload
import OfflineStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Revises the responses of a store, with a fault at one of its file operations.
///
/// At its end it writes `end` with the numbers of struck and counted operations, after `wrong …`
/// for each finding. A fault that fails operations ends before a second revision, which continues
/// in the same process.
struct Revise {
    let folder: String
    let mode: fault_mode
    let at: Int64

    init?(_ words: [String]) {
        let modes = [
            "none": FAULT_COUNT, "kill": FAULT_KILL, "torn": FAULT_TORN_KILL, "cut": FAULT_CUT, "error": FAULT_ERROR,
        ]
        guard words.count == 4, let mode = modes[words[2]], let at = Int64(words[3]) else { return nil }
        folder = words[1]
        self.mode = mode
        self.at = at
    }

    func run() async {
        fault_watch(folder, mode == FAULT_CUT ? 1 : 0)
        do {
            let store = try await CacheManager.openForFaults(folder)
            fault_arm(fault_plan(mode: mode, error: ENOSPC, first: at, count: 3, seed: UInt64(at)))
            do {
                _ = try await store.reviseResponses(RevisionWorkload.revising)
                try await store.settle()
            } catch let error as StoreError {
                if mode != FAULT_ERROR { Line.write("wrong: \(error)") }
            }
            let (strikes, calls) = (fault_strikes(), fault_calls())
            fault_disarm()
            if mode == FAULT_ERROR {
                for finding in try await RevisionWorkload.findings(store, isFinished: false) {
                    Line.write("wrong, with the fault: \(finding)")
                }
                _ = try await store.reviseResponses(RevisionWorkload.revising)
            }
            for finding in try await RevisionWorkload.findings(store, isFinished: true) {
                Line.write("wrong: \(finding)")
            }
            try await store.close()
            Line.write("end \(strikes) \(calls)")
        } catch {
            Line.write("wrong: \(error)")
        }
    }
}
