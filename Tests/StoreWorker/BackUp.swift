import FaultShim
import OfflineStore

/// Backs up a store, with a fault at one of the file operations in the folder of the backup.
///
/// It writes a line `begin`, and then `backup RESPONSES OBJECTS` or `failed CODE MESSAGE`.
struct BackUp {
    let store: String
    let backup: String
    let fault: (mode: fault_mode, at: Int64)?

    init?(_ words: [String]) {
        guard words.count >= 3 else { return nil }
        store = words[1]
        backup = words[2]
        guard words.count >= 5, let at = Int64(words[4]) else {
            fault = nil
            return
        }
        let modes = ["kill": FAULT_KILL, "torn": FAULT_TORN_KILL, "cut": FAULT_CUT]
        guard let mode = modes[words[3]] else { return nil }
        fault = (mode, at)
    }

    func run() async {
        if let fault {
            let parent = String(backup[..<(backup.lastIndex(of: "/") ?? backup.endIndex)])
            fault_watch(parent, fault.mode == FAULT_CUT ? 1 : 0)
            fault_arm(fault_plan(mode: fault.mode, error: 0, first: fault.at, count: 1, seed: UInt64(fault.at)))
        }
        Line.write("begin")
        do {
            let made = try await CacheManager.backUp(store, to: backup)
            Line.write("backup \(made.responses) \(made.objects)")
        } catch let error as StoreError {
            Line.write("failed \(error.code) \(error)")
        } catch {
            Line.write("failed \(error)")
        }
    }
}
