extension CacheManager {
    /// Copies everything that is whole in a damaged store to a new one.
    ///
    /// The files are read page by page and without SQLite, so that no damage to one page hides what
    /// is on another: every row that is found is known by its shape and believed by its checksum.
    /// An entry is copied when its head and its whole body check out, with its key, variant, times,
    /// tags, and whether it is pinned or invalidated; where it cannot be known whether it was
    /// invalidated, as if it were. Nothing is written to the old store, and nobody may write to it
    /// meanwhile.
    ///
    /// The new store gets a secret of its own for its indexes. The one under which requests with
    /// credentials are told apart is carried over; see ``StoreRecovery/hasCredentialSecret``.
    ///
    /// ```swift
    /// let recovery = try await CacheManager.recover(from: "/var/lib/moments/cache", to: "/var/lib/moments/recovered")
    /// if !recovery.isComplete { print(recovery.lossCount, "entries are damaged") }
    /// ```
    ///
    /// - Parameters:
    ///   - source: a store's folder (of all its databases, those that were set aside too, the live
    ///     one wins for the same key), or one database file.
    ///   - folder: the new store's; it does not exist yet, or is empty. It is made with mode 0700.
    ///     Its budget is whatever it is opened with.
    /// - Throws: ``StoreError``: `notAStore`, `foreignDatabase`, `newerSchema`, `inUse`,
    ///   `invalidConfiguration`, `unwritable`, `full`, `io`; `CancellationError` when the task is
    ///   cancelled. Then there is no new store.
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
