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

/// Revises what is in a store, with a fault at one of its file operations.
///
/// `end` with the number of operations struck, and of those counted, when it came to its end, after
/// `wrong …` for each thing that must not be. A fault that fails operations instead of taking the
/// process ends before a second revision, which finds the store in the same process and goes on.
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
