package import OfflineStore
import StoreFiles

extension CacheManager {
    /// Copies all undamaged entries from a damaged store to a new store.
    ///
    /// This reads the files page by page, without SQLite, so that damage to one page does not hide
    /// the rows on others. It recognizes each row by its shape and verifies its checksum. An entry
    /// is copied if its head and its whole body are intact, including its key, variant, times,
    /// tags, pin and invalidation mark. If it is unknown whether an entry was invalidated, it is
    /// copied as invalidated. Nothing is written to the old store, and no process may write to it
    /// during recovery.
    ///
    /// The new store gets a new secret for its indexes. The secret that separates requests by their
    /// credentials is copied: see ``StoreRecovery/hasCredentialSecret``.
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
    ///   - source: a store's folder, or one database file. In a folder, all databases are read,
    ///     including databases that were set aside; for the same key, the current database wins.
    ///   - folder: the folder of the new store, which must not exist or must be empty. It is
    ///     created with mode 0700. The budget is set when the store is opened.
    /// - Throws: ``StoreError``: `notAStore`, `foreignDatabase`, `newerSchema`, `inUse`,
    ///   `invalidConfiguration`, `unwritable`, `full`, `io`; `CancellationError` if the task is
    ///   canceled. After an error, there is no new store.
    @concurrent
    package static func recover(from source: String, to folder: String) async throws -> StoreRecovery {
        try StoreOpening.checkPath(source)
        try StoreOpening.checkPath(folder)
        let target = StoreFolder(path: folder)
        return try StoreOpening.translatingErrors(target) {
            try Recovery(from: StoreFolder(path: source), to: target).run()
        }
    }
}
