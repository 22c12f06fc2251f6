import LibC
import StoreFiles

/// The folder in which a backup is made, next to the folder that it becomes.
///
/// Its name is that of the backup with `.unfinished`, and it is renamed when it is complete. So a
/// backup that is interrupted never looks like one. The next backup to the same folder removes what
/// is left of it.
final class BackupFolder {
    let target: StoreFolder
    let unfinished: StoreFolder
    /// Whether the remains of an interrupted backup were removed.
    let hadLeftovers: Bool
    private let lock: FolderLock

    /// The copy of the database, which gets its name when it is complete.
    var copyPath: String { unfinished.path + "/\(Self.copyName)" }

    private static let copyName = "copying"
    /// Locked while the backup is made. A folder without this file is not ours to remove.
    private static let lockName = "backup.lock"

    /// Creates the folder, and locks it.
    ///
    /// - Throws: ``StoreError`` with `invalidConfiguration` or `inUse`; nothing was changed.
    init(for target: StoreFolder) throws {
        self.target = target
        unfinished = StoreFolder(path: target.path + ".unfinished")
        try makeFolder(unfinished.path)
        try Self.checkLeftovers(in: unfinished)
        lock = try Self.lock(unfinished, for: target)
        // After a power failure, a folder with other files must have this one too.
        try synchronizeFolder(unfinished.path)
        let names = try Self.checkLeftovers(in: unfinished).filter { $0 != Self.lockName }
        hadLeftovers = !names.isEmpty
        for name in names { try unfinished.remove(unfinished.path + "/" + name) }
    }

    /// Returns the names in the folder; throws if an interrupted backup did not leave them.
    @discardableResult
    private static func checkLeftovers(in folder: StoreFolder) throws -> [String] {
        let names = try namesInFolder(folder.path)
        guard names.isEmpty || names.contains(lockName), names.allSatisfy(isWritten) else {
            throw StoreError(
                code: .invalidConfiguration,
                message: "'\(folder.path)', where the backup would be made, has other content. "
                    + "Move that folder away, or name another folder for the backup. Nothing was changed."
            )
        }
        return names
    }

    /// Returns whether backups write files with a name.
    private static func isWritten(_ name: String) -> Bool {
        if [lockName, "sequence", "CURRENT", "CURRENT.new"].contains(name) { return true }
        return ["", "-wal", "-shm", "-journal"].contains { ending in
            guard name.hasSuffix(ending) else { return false }
            let stem = String(name.dropLast(ending.count))
            return stem == copyName || StoreFolder.databaseNumber(stem) != nil
        }
    }

    private static func lock(_ folder: StoreFolder, for target: StoreFolder) throws -> FolderLock {
        // Another user's link could lead to files that are not ours to remove.
        let handle = try FileHandle(path: folder.path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        do {
            let lock = try FolderLock(path: folder.path + "/" + lockName, folder: folder.path)
            // The backup that held the lock before may have renamed the folder.
            let identity = FileIdentity(descriptor: handle.descriptor)
            if lock.identity == identity, try FileIdentity(path: folder.path) == identity { return lock }
            lock.release()
            throw inUse(target, "another process")
        } catch let inUse as FolderLock.InUse {
            throw Self.inUse(target, inUse.holder)
        }
    }

    private static func inUse(_ target: StoreFolder, _ holder: String) -> StoreError {
        StoreError(
            code: .inUse,
            message: "A backup to '\(target.path)' is already being made by \(holder). "
                + "Wait for it, or name another folder. Nothing was changed."
        )
    }

    /// Gives the files and the folder their names. The backup is durable when this returns.
    ///
    /// - Parameters:
    ///   - number: the database's number.
    ///   - sequence: the number for the sidecar; `nil` leaves it out.
    func publish(_ number: Int, sequence: Int64?) throws {
        let path = unfinished.databasePath(number)
        guard rename(copyPath, path) == 0 else { throw SystemFailure("rename", copyPath) }
        if let sequence { try SequenceSidecar(path: unfinished.sidecarPath).write(sequence) }
        try unfinished.setCurrent(number)
        guard rename(unfinished.path, target.path) == 0 else { throw SystemFailure("rename", unfinished.path) }
        let slash = target.path.lastIndex(of: "/") ?? target.path.startIndex
        try synchronizeFolder(slash == target.path.startIndex ? "/" : String(target.path[..<slash]))
        // Only now: a folder without this file could not be removed by the next backup.
        unlink(target.path + "/" + Self.lockName)
        lock.release()
    }

    /// Removes the folder, after a failure.
    func discard() {
        let names = ((try? namesInFolder(unfinished.path)) ?? []).filter { Self.isWritten($0) }
        // The lock's file is removed last: without it, the folder would not be ours.
        for name in names.filter({ $0 != Self.lockName }) + [Self.lockName] { unlink(unfinished.path + "/" + name) }
        rmdir(unfinished.path)
        lock.release()
    }
}
