import HTTPCache
import HTTPCacheSemantics
import Logging
import StoreFiles
import Synchronization

/// A store whose folder or database was deleted or replaced while this process has it open. Without
/// a check, it would continue to store in files that no path names, until they are lost.
extension StoreCore {
    /// The state of the store's files, compared with those that this process opened.
    private enum Files: Equatable {
        case same
        case databaseIsGone
        case folderIsGone
        /// Another folder with content is at the store's path.
        case replaced(StoreFolder.Content)
    }

    /// Compares the store's files with those that this process opened, and reports a difference. A
    /// deleted store is made anew, empty, with the same secrets. A folder that was replaced by one
    /// with content is only locked, and left alone until a restart: see ``FolderReplacement``.
    func checkFiles() {
        guard !isReadOnly, let (database, _) = try? live.get() else { return }
        let files: Files
        do { files = try self.files(of: database) } catch { return }
        let isNew = replacement.withLock { known in
            guard case .replaced(let content) = files else {
                known?.release()
                known = nil
                return false
            }
            defer { known?.hold(folder, content) }
            guard known == nil else { return false }
            known = FolderReplacement()
            return true
        }
        switch files {
        case .same: break
        case .databaseIsGone:
            report("the store's database was deleted or replaced while in use; creating a new one")
            renew(database, inNewFolder: false)
        case .folderIsGone:
            report(
                """
                the store's folder was deleted while in use; creating it again, empty; \
                if it held a control socket, commands need a restart of this process
                """
            )
            renew(database, inNewFolder: true)
        case .replaced:
            guard isNew else { return }
            report("another folder replaced the store's folder while in use; restart to use it")
        }
    }

    private func report(_ message: Logger.Message) {
        logger.error(message, metadata: ["store.path": "\(folder.path)"])
    }

    private func files(of database: StoreDatabase) throws -> Files {
        let lock = locks.withLock { $0.last } ?? settings.lock
        guard let lock, try FileIdentity(path: folder.path) != lock.identity else {
            let isSame = try FileStatus(path: database.path)?.inode == database.inode
            return isSame ? .same : .databaseIsGone
        }
        switch try folder.content() {
        case .absent, .empty: return .folderIsGone
        case let content: return .replaced(content)
        }
    }

    private func renew(_ lost: StoreDatabase, inNewFolder: Bool) {
        let isRenewed = live.exchange.withLock { _ in
            guard live.isLive(lost) else { return false }
            do {
                let reason = SQLiteFailure(code: 11, message: "deleted").storeError(path: lost.path)
                try lost.writer?.refuseAfter(reason) {
                    if inNewFolder {
                        try makeFolder(folder.path)
                        let lock = try FolderLock(path: folder.lockPath, folder: folder.path)
                        locks.withLock { $0.append(lock) }
                    }
                    try lastInvalidation.sidecar?.reopen(path: folder.sidecarPath)
                    journalAdditions.send()
                    try startNew(
                        secrets: lost.state.secrets,
                        sequence: lastInvalidation.number,
                        above: lost.number,
                        now: Timestamp(milliseconds: lost.state.latestInstant)
                    )
                }
                return true
            } catch {
                logger.error(
                    "cannot create the store again",
                    metadata: ["store.path": "\(folder.path)", "error": "\(StoreError(error, path: folder.path))"]
                )
                return false
            }
        }
        guard isRenewed else { return }
        counters.lostDatabases.add(1, ordering: .relaxed)
        try? lost.close(checkpointing: false)
        changes.publish(StoreChange(.invalidated, .all))
        objectChanges.publish(.any)
    }
}
