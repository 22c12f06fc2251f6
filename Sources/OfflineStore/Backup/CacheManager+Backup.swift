import StoreFiles

extension CacheManager {
    /// Copies a store to a new folder, even while a process writes to the store.
    ///
    /// The backup is the store at one moment: it has everything that was committed before this
    /// call, and some of what was committed during it. It is itself a store, and is restored by
    /// putting its folder in the place of the store's.
    ///
    /// The writer is never locked out. Bodies are read in steps of a few milliseconds. Then one
    /// snapshot reads everything else. A checkpoint that meets this snapshot waits for at most half
    /// a second, and so do the writes behind it. If the write-ahead log reaches its limit before
    /// the snapshot ends, the writer stores no responses until then; invalidations are still
    /// written.
    ///
    /// The backup has no identity in a fleet, no temporary settings of an operator, and no token
    /// for the control plane.
    ///
    /// ```swift
    /// let backup = try await CacheManager.backUp("/var/lib/moments/cache", to: "/backup/moments")
    /// print(backup.responses, "responses")
    /// ```
    ///
    /// - Parameters:
    ///   - folder: the store's folder.
    ///   - target: the folder of the backup, which must not exist or must be empty. It appears when
    ///     the backup is complete and durable. Until then, the copy is in a folder whose name ends
    ///     in `.unfinished`. If the process ends, the next backup to the same target removes it.
    ///   - progress: called from time to time.
    /// - Throws: ``StoreError``: `notAStore`, `foreignDatabase`, `newerSchema`, `damaged`, `inUse`
    ///   (another backup to this target), `busy` (the database was replaced or migrated),
    ///   `invalidConfiguration`, `unwritable`, `full`, `io`; `CancellationError` if the task is
    ///   canceled. After an error, there is no backup.
    @concurrent
    package static func backUp(
        _ folder: String,
        to target: String,
        progress: @escaping @Sendable (StoreBackup.Progress) -> Void = { _ in }
    ) async throws -> StoreBackup {
        try StoreOpening.checkPath(folder)
        try StoreOpening.checkPath(target)
        return try Backup(source: StoreFolder(path: folder), target: StoreFolder(path: target), progress: progress)
            .run()
    }
}
