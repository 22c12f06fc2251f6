import FaultShim
import FaultWorkload
import OfflineStore

/// Purges of a store that is joined to a fleet log, until its power fails at one of its file
/// operations, with a line for each promise. `end` is the last line.
struct Share {
    let folder: String
    let at: Int64
    let seed: UInt64

    init?(_ words: [String]) {
        guard words.count == 4, let at = Int64(words[2]), let seed = UInt64(words[3]) else { return nil }
        folder = words[1]
        self.at = at
        self.seed = seed
    }

    func run() async {
        fault_watch(folder, 1)
        do {
            let store = try await CacheManager.openForFaults(folder)
            let workload = SharingWorkload(store)
            try await workload.begin()
            fault_arm(fault_plan(mode: FAULT_CUT, error: 0, first: at, count: 1, seed: seed))
            try await workload.run { Line.write($0) }
            fault_disarm()
            try await store.close()
            Line.write("end")
        } catch {
            Line.write("wrong: \(error)")
        }
    }
}
