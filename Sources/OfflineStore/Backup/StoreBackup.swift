/// The result of backing up a store: see `CacheManager.backUp(_:to:progress:)`.
package struct StoreBackup: Sendable, Hashable {
    /// An event of a backup in progress.
    package enum Progress: Sendable, Hashable {
        /// An earlier backup to the same folder was interrupted. The folder that it left was
        /// removed.
        case removedUnfinished(String)
        /// The size of the copy, in bytes, and its approximate final size.
        case copied(Int64, of: Int64)
    }

    /// The absolute path of the backup's folder.
    package var folder: String
    /// The file name of the database.
    package var databaseName: String
    /// The version of the schema, which is that of the store.
    package var schemaVersion: Int
    /// The number of responses.
    package var responses: Int
    /// The number of objects.
    package var objects: Int
    /// The total length of their bodies, in bytes.
    package var bytes: Int64
    /// The size of the database, in bytes.
    package var databaseBytes: Int64
    /// The number of the last invalidation in the backup.
    package var invalidationSequence: Int64
    /// Whether it is known which entries were invalidated.
    ///
    /// If not, all entries of the backup are treated as invalidated when it is opened, and so are
    /// those of the store.
    package var hasInvalidations: Bool
}
