public import OfflineStore

extension CacheManager {
    /// Copies all undamaged entries of a damaged store to a new one.
    ///
    /// It reads the files page by page, without SQLite, so that damage to one page does not hide
    /// the rows on others. It recognises each row by its shape and verifies it by its checksum. An
    /// entry is copied if its head and its whole body are intact, with its key, variant, times,
    /// tags, pin and invalidation mark. If it is unknown whether it was invalidated, it is copied
    /// as invalidated. Nothing is written to the old store, and no process may write to it
    /// meanwhile.
    ///
    /// The new store gets its own secret for its indexes. The secret that separates requests by
    /// their credentials is copied; see ``StoreRecovery/hasCredentialSecret``.
    ///
    /// ```swift
    /// import OfflineStoreRecovery
    ///
    /// let (damaged, new) = ("/var/lib/cache", "/var/lib/recovered")
    /// let recovery = try await CacheManager.recover(from: damaged, to: new)
    /// if !recovery.isComplete { print(recovery.lossCount, "entries are damaged") }
    /// ```
    ///
    /// - Parameters:
    ///   - source: a store's folder, or one database file. In a folder all databases are read, also
    ///     those that were set aside; for the same key, the one in use wins.
    ///   - folder: the folder of the new store, which must not exist or must be empty. It is
    ///     created with mode 0700. The budget is set when it is opened.
    /// - Throws: ``StoreError``: `notAStore`, `foreignDatabase`, `newerSchema`, `inUse`,
    ///   `invalidConfiguration`, `unwritable`, `full`, `io`; `CancellationError` if the task is
    ///   cancelled. There is no new store then.
    @concurrent
    public static func recover(from source: String, to folder: String) async throws -> StoreRecovery {
        try StoreOpening.checkPath(source)
        try StoreOpening.checkPath(folder)
        let target = StoreFolder(path: folder)
        return try StoreOpening.translatingErrors(target) {
            try Recovery(from: StoreFolder(path: source), to: target).run()
        }
    }
}
