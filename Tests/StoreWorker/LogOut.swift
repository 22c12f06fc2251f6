import FaultShim
import FaultWorkload
import OfflineStore

/// Stores responses and objects of three principals, and removes those of one while the others
/// store more.
///
/// It writes a line `put NAME INDEX` for each that is acknowledged meanwhile, and `filled`,
/// `removed`, `erased` and `end`.
struct LogOut {
    static let names = ["ada", "bob", "eve"]

    let folder: String
    let count: Int
    let isErasing: Bool
    let fault: (mode: fault_mode, at: Int64)?

    init?(_ words: [String]) {
        guard words.count >= 6, let count = Int(words[2]), let at = Int64(words[5]) else { return nil }
        folder = words[1]
        self.count = count
        isErasing = words[3] == "erasing"
        let modes = ["kill": FAULT_KILL, "torn": FAULT_TORN_KILL]
        fault = modes[words[4]].map { (mode: $0, at: at) }
    }

    func run() async {
        do {
            // Before the store opens its files.
            if fault != nil { fault_watch(folder, 0) }
            let store = try await CacheManager.openForFaults(folder, isErasing: isErasing)
            for name in Self.names {
                for index in 0..<count { try await put(name, index, store) }
            }
            Line.write("filled")
            if let fault {
                fault_arm(fault_plan(mode: fault.mode, error: 0, first: fault.at, count: 1, seed: 1))
            }
            try await removeUnderLoad(store)
            try await store.close()
            Line.write("end")
        } catch {
            Line.write("failed \(error)")
        }
    }

    private func removeUnderLoad(_ store: CacheManager) async throws {
        // Requested before the removal, so hers are not stored after it.
        let number = store.invalidationSequence
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in Self.names {
                group.addTask {
                    for index in count..<2 * count {
                        let isStored = try await store.storeResponse(of: name, index, bytes: 9, fencingNumber: number)
                        guard isStored, name != "ada" else { continue }
                        try await store.setObject(name, forKey: "\(name)/\(index)")
                        Line.write("put \(name) \(index)")
                    }
                }
            }
            group.addTask {
                try await store.removeResponses(of: "ada")
                Line.write("removed")
                try await store.removeObjects(withPrefix: "ada/")
                Line.write("erased")
            }
            try await group.waitForAll()
        }
    }

    private func put(_ name: String, _ index: Int, _ store: CacheManager) async throws {
        let number = store.invalidationSequence
        guard try await store.storeResponse(of: name, index, bytes: 1 + index * 3000, fencingNumber: number) else {
            throw Wrong("not stored: \(name) \(index)")
        }
        try await store.setObject(name, forKey: "\(name)/\(index)")
    }
}
