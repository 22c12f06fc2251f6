import StoreFiles

/// Another folder with content at the path of a store that is in use.
///
/// If it is a store, it is locked until the process restarts or the folder is gone. Without the
/// lock, a command such as `holdfast purge` would change it in place, and report that the purge is
/// in force although the gateway still serves from its own store.
struct FolderReplacement {
    private var lock: FolderLock?

    /// Locks the folder, unless it is locked already, another process uses it, or it is not a
    /// store.
    mutating func hold(_ folder: StoreFolder, _ content: StoreFolder.Content) {
        if let lock, (try? FileIdentity(path: folder.path)) == lock.identity { return }
        release()
        guard case .store = content else { return }
        lock = try? FolderLock(path: folder.lockPath, folder: folder.path)
    }

    /// Releases the lock.
    mutating func release() { lock.take()?.release() }
}
