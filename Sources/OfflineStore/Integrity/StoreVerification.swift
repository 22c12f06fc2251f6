package import HTTPCache

/// The result of examining a store: see ``CacheManager/verify(at:isFull:maximumFindings:)``.
package struct StoreVerification: Sendable {
    /// A part of the store that is damaged, or that contradicts another part.
    package struct Finding: Sendable, Hashable {
        /// The kind of the finding.
        package var kind: Kind
        /// The number of the affected entry, if any.
        package var entryID: Int64?
        /// The ``StoreEntry/shortID`` of the affected entry, if any.
        package var shortID: String?
        /// A response's URI with its secrets replaced, if the key can be read.
        package var redactedURI: String?
        /// An explanation for the operator, without stored content.
        package var detail: String
    }

    /// The kind of a finding.
    ///
    /// More kinds may be added, so a `switch` needs a `default`.
    package struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The kind's name.
        package let description: String

        init(_ description: String) { self.description = description }

        /// The file `CURRENT` is missing.
        package static let current = Kind("current")
        /// The database is missing, is not a database, is shorter than its header states, or lacks
        /// the row of the table `store`.
        package static let database = Kind("database")
        /// SQLite's own check found an error.
        package static let structure = Kind("structure")
        /// A table cannot be read to its end.
        package static let unreadable = Kind("unreadable")
        /// The sidecar is missing or damaged, or has a later invalidation than the database.
        package static let sequence = Kind("sequence")
        /// Entries that were found to be damaged earlier, and are not served.
        package static let known = Kind("known")
        /// The row of an entry holds impossible values.
        package static let row = Kind("row")
        /// A key does not match its indexed hash.
        package static let key = Kind("key")
        /// A head does not match its checksum or its row.
        package static let head = Kind("head")
        /// A body lacks chunks, has a chunk that does not match its checksum, belongs to another
        /// entry, or is listed for removal.
        package static let body = Kind("body")
        /// A key has the same variant twice.
        package static let duplicate = Kind("duplicate")
        /// A recorded size is wrong.
        package static let size = Kind("size")
        /// A row is not found through an index.
        package static let index = Kind("index")
        /// Chunks that belong to no entry or exceed their body's length, and that nothing will
        /// remove.
        package static let orphan = Kind("orphan")
        /// A tag and its entries contradict each other.
        package static let tag = Kind("tag")
    }

    /// The absolute path of the store's folder.
    package var folder: String
    /// The file name of the database in use; empty if there is none.
    package var databaseName = ""
    /// The version of the schema; 0 if it cannot be read.
    package var schemaVersion = 0
    /// Whether everything was read.
    package var isFull: Bool
    /// Whether SQLite's own check of all pages was run.
    ///
    /// This check cannot be divided, and a writing process's write-ahead log would grow during it.
    /// So a full examination runs it on a database of more than 256 MiB only if no process writes
    /// to the store. A quick examination never runs it on more than 64 MiB. Without it, all or some
    /// rows, indexes and chunks are examined in batches.
    package var isStructureExamined = false
    /// Whether a process that writes to the store is the reason that all pages were not checked.
    package var isStructureDeferred = false
    /// The number of entries in the table.
    package var entries = 0
    /// The number of entries whose head, key and row were examined.
    package var examinedEntries = 0
    /// The number of bytes of bodies whose checksums were verified.
    package var examinedBytes: Int64 = 0
    /// The findings, up to the maximum number.
    package var findings: [Finding] = []
    /// The number of all findings, including those that were not kept.
    package var findingCount = 0
    /// The damaged databases that were set aside. They are not damage to the store in use.
    package var setAside: [StoreStatistics.SetAside] = []

    /// Whether there are no findings.
    package var isWhole: Bool { findingCount == 0 }

    init(folder: String, isFull: Bool) {
        self.folder = folder
        self.isFull = isFull
    }
}
