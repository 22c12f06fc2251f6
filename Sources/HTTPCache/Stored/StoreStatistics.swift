/// Numbers about a store at one moment.
public struct StoreStatistics: Sendable, Hashable {
    /// A damaged database that was set aside: it keeps its file name, and the store uses a new one.
    public struct SetAside: Sendable, Hashable {
        /// The file's name in the store's folder.
        public var name: String
        /// The bytes of the file and its log.
        public var bytes: Int64

        /// Creates the size of a database.
        package init(name: String, bytes: Int64) { (self.name, self.bytes) = (name, bytes) }
    }

    /// The number of stored responses.
    public var responses = 0
    /// The number of stored objects.
    public var objects = 0
    /// The bytes of bodies, heads and keys, and the approximate size of their rows.
    public var storedBytes: Int64 = 0
    /// The number of entries that are stale, or no longer live. This includes invalidated entries,
    /// and entries stored while the clock was ahead.
    public var expired = 0
    /// The number of expired entries that may be used when the network is unreachable.
    public var usableStale = 0
    /// The number of entries that are past their lifetime, may be used when the network is
    /// unreachable, and were not invalidated.
    public var stale = 0
    /// The number of entries that were invalidated but not removed.
    public var invalidated = 0
    /// The number of entries with damage. They are not served, and stay until they are replaced,
    /// evicted or removed.
    public var damagedEntries = 0
    /// The number of pinned entries, which are never evicted.
    public var pinned = 0
    /// The number of bodies without an entry: unfinished bodies, and bodies that the sweep will
    /// remove.
    public var unreferencedBodies = 0
    /// The size of the database file, in bytes.
    public var databaseBytes: Int64 = 0
    /// The size of the write-ahead log, in bytes.
    public var logBytes: Int64 = 0
    /// The number of bytes in free pages of the database file.
    public var freeBytes: Int64 = 0
    /// The maximum number of bytes that the folder may use, as configured in this process.
    public var budget: Int64 = 0
    /// The number of the last invalidation.
    public var invalidationSequence: Int64 = 0
    /// The number of times that a head or a chunk was read with a wrong checksum, since this
    /// process opened the store.
    public var damagedReads = 0
    /// The number of times that a new, empty database replaced one that was damaged or deleted,
    /// since this process opened the store.
    package var lostDatabases = 0
    /// The number of times that an object did not decode as the requested type, since this process
    /// opened the store.
    public var undecodableObjects = 0
    /// The number of entries evicted because of the budget or a quota, since this process opened
    /// the store.
    public var evictedEntries = 0
    /// The number of bytes of the evicted entries, measured like ``storedBytes``.
    public var evictedBytes: Int64 = 0
    /// The number of keys whose responses or object are in memory.
    public var residentKeys = 0
    /// The approximate number of bytes that these keys use in memory, including bookkeeping.
    public var residentBytes: Int64 = 0
    /// The maximum number of bytes that these keys may use in memory, as configured in this
    /// process.
    public var memoryBudget: Int64 = 0
    /// The use of the configured quotas: the first 64 in alphabetical order.
    package var quotas: [QuotaUse] = []
    /// The damaged databases that were set aside.
    public var setAside: [SetAside] = []
    /// The file name of the database in use.
    public var databaseName = ""
    /// The version of the schema.
    public var schemaVersion = 0
    /// The version of the system's SQLite.
    public var sqliteVersion = ""
    /// Whether the store was opened only for reading.
    public var isReadOnly = false

    /// Creates the numbers of an empty store.
    package init() {}

    /// The size of the database without its free pages, plus the size of its write-ahead log, in
    /// bytes.
    package var usedBytes: Int64 { databaseBytes - freeBytes + logBytes }
    /// The number of entries that may be used without validation.
    package var fresh: Int { responses + objects - expired }
}
