import FaultShim
import FaultWorkload
import OfflineStore

/// Concurrent lanes of operations, with a line `try LANE NUMBER` before each, and `ack LANE NUMBER`
/// or `fail LANE NUMBER CODE` after it.
///
/// The operations follow from the seed, so the lines do not describe them. `open` is the first line
/// and `end` the last; `wrong …` reports bytes that were never stored.
struct Load {
    let folder: String
    let seed: UInt64
    let count: Int
    let lanes: Int
    let budget: Int64
    let fault: (mode: fault_mode, at: Int64)?

    init?(_ words: [String]) {
        guard words.count >= 6, let seed = UInt64(words[2]), let count = Int(words[3]), let lanes = Int(words[4]),
            let budget = Int64(words[5])
        else { return nil }
        folder = words[1]
        self.seed = seed
        self.count = count
        self.lanes = lanes
        self.budget = budget
        guard words.count >= 8, let at = Int64(words[7]) else {
            fault = nil
            return
        }
        let modes = ["kill": FAULT_KILL, "torn": FAULT_TORN_KILL, "cut": FAULT_CUT]
        guard let mode = modes[words[6]] else { return nil }
        fault = (mode, at)
    }

    func run() async {
        if let fault {
            fault_watch(folder, fault.mode == FAULT_CUT ? 1 : 0)
            fault_arm(fault_plan(mode: fault.mode, error: 0, first: fault.at, count: 1, seed: seed))
        }
        do {
            let store = try await CacheManager.openForFaults(folder, budget: budget)
            Line.write("open")
            await withTaskGroup { group in
                for lane in 0..<lanes {
                    group.addTask { await run(lane: lane, store) }
                }
            }
            try await store.close()
            Line.write("end")
        } catch {
            Line.write("failed \(error)")
        }
    }

    private func run(lane: Int, _ store: CacheManager) async {
        let operations = Workload.operations(seed: seed, lane: lane, count: count, isAlone: lanes == 1)
        for (number, operation) in operations.enumerated() {
            Line.write("try \(lane) \(number)")
            do {
                try await store.perform(operation)
                Line.write("ack \(lane) \(number)")
            } catch let error as StoreError {
                Line.write("fail \(lane) \(number) \(error.code)")
            } catch {
                Line.write("wrong \(lane) \(number) \(error)")
            }
        }
    }
}
