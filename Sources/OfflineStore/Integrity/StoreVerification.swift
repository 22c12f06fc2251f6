/// What an examination of a store found: see ``CacheManager/verify(at:isFull:maximumFindings:)``.
public struct StoreVerification: Sendable {
    /// One thing that is not as it was written, or does not fit another.
    public struct Finding: Sendable, Hashable {
        /// What kind of thing.
        public var kind: Kind
        /// The entry's number, where it is about one.
        public var entryID: Int64?
        /// The entry's ``StoreEntry/shortID``, where it is about one.
        public var shortID: String?
        /// A response's URI with its secrets replaced, where the key can be read.
        public var redactedURI: String?
        /// A sentence for people; it holds no stored content.
        public var detail: String
    }

    /// The kind of a finding.
    ///
    /// More may be added: a `switch` needs a `default`.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The kind's name.
        public let description: String

        init(_ description: String) { self.description = description }

        /// The file `CURRENT` is missing.
        public static let current = Kind("current")
        /// The database is missing, is no database, is shorter than it says, or has no row that
        /// says what it is.
        public static let database = Kind("database")
        /// SQLite's own check found something.
        public static let structure = Kind("structure")
        /// A table cannot be read to its end.
        public static let unreadable = Kind("unreadable")
        /// The sidecar is missing, or knows of invalidations that the database has not.
        public static let sequence = Kind("sequence")
        /// Entries were found to be damaged before, and answer no more.
        public static let known = Kind("known")
        /// A row of an entry says what cannot be.
        public static let row = Kind("row")
        /// A key is not the one under which it is found.
        public static let key = Kind("key")
        /// A head does not fit its checksum or its place.
        public static let head = Kind("head")
        /// A body lacks chunks, has too many, or a chunk does not fit its checksum.
        public static let body = Kind("body")
        /// A key has one variant twice.
        public static let duplicate = Kind("duplicate")
        /// A size does not fit what it is the size of.
        public static let size = Kind("size")
        /// A row is not found through an index.
        public static let index = Kind("index")
        /// Chunks that no entry names and that nothing will remove.
        public static let orphan = Kind("orphan")
        /// A tag and those who carry it do not fit.
        public static let tag = Kind("tag")
    }

    /// The absolute path of the store's folder.
    public var folder: String
    /// The live database's file name; empty when there is none.
    public var databaseName = ""
    /// The version of the schema; 0 when it cannot be read.
    public var schemaVersion = 0
    /// Whether everything was read, and not only some.
    public var isFull: Bool
    /// Whether SQLite's own check of all pages was run.
    ///
    /// It cannot be divided, and what a writing process stores meanwhile would pile up in the log:
    /// a full examination checks a database of more than 256 MiB in this way only when no process
    /// writes it, and a quick one none of more than 64 MiB. Else rows, indexes and chunks are
    /// examined in batches, all of them or some.
    public var isStructureExamined = false
    /// Entries in the table.
    public var entries = 0
    /// Entries of which head, key and places were examined.
    public var examinedEntries = 0
    /// Bytes of bodies whose checksums were verified.
    public var examinedBytes: Int64 = 0
    /// What was found, as far as the limit goes.
    public var findings: [Finding] = []
    /// How much was found in all.
    public var findingCount = 0
    /// Databases that were damaged and left under their numbers: nothing that is wrong with the
    /// store as it is.
    public var setAside: [StoreStatistics.SetAside] = []

    /// Whether nothing was found.
    public var isWhole: Bool { findingCount == 0 }

    init(folder: String, isFull: Bool) {
        self.folder = folder
        self.isFull = isFull
    }
}
