import CommandLineSupport
import Foundation
import Holdfast
import StoreFiles

/// The limits of a store, compared with the disk and the memory of the machine.
struct StoreRoom {
    /// The store's limit on disk, in bytes.
    var budget: Int64
    /// The limit of the memory tier, in bytes.
    var memory: Int64
    /// The size of the file system, in bytes; `nil` if it is unknown.
    var disk: Int64?
    /// The memory of the machine, in bytes.
    var machineMemory: Int64

    /// The settings that exceed what the machine has, with a message for each.
    var warnings: [(setting: String, message: String)] {
        var warnings: [(setting: String, message: String)] = []
        if let disk, budget > disk {
            let message =
                "\(ByteSize.text(budget)) is more than the disk has: \(ByteSize.text(disk)). The disk would be full before the store evicts anything. Lower it."
            warnings.append(("store.budget", message))
        }
        if memory > machineMemory {
            let message =
                "\(ByteSize.text(memory)) is more memory than the machine has: \(ByteSize.text(machineMemory)). Lower it."
            warnings.append(("store.memory", message))
        }
        return warnings
    }
}

extension StoreRoom {
    /// Measures this machine.
    ///
    /// - Parameter folder: the store's folder, which may not exist yet; `nil` if it is unknown.
    init(of settings: CacheManager.Configuration, at folder: String?) {
        self.init(
            budget: settings.budget,
            memory: Int64(clamping: settings.memoryBudget),
            disk: folder.flatMap(Self.size),
            machineMemory: Int64(clamping: ProcessInfo.processInfo.physicalMemory)
        )
    }

    /// Returns the size of the file system that contains a folder, or will contain it.
    private static func size(ofDiskAt folder: String) -> Int64? {
        var place = URL(fileURLWithPath: folder)
        while place.path != "/", !FileManager.default.fileExists(atPath: place.path) {
            place.deleteLastPathComponent()
        }
        return FileSystemStatus(path: place.path)?.size
    }
}
