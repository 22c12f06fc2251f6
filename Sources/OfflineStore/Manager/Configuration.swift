extension CacheManager {
    /// The settings of a store.
    ///
    /// The defaults suit a service; a command-line tool may want a smaller budget.
    public struct Configuration: Sendable {
        /// The minimum ``budget``: 4 MiB.
        public static let minimumBudget: Int64 = 4 << 20

        /// The maximum number of bytes that the store's folder may use, including the write-ahead
        /// log; 1 GiB by default.
        ///
        /// At 95 %, entries are evicted in the order of ``evictionOrder``, down to 90 %. Pinned
        /// entries stay. One entry uses at most an eighth of the budget, and at most 4 GiB.
        /// Databases that were set aside because of damage do not count; you can examine or remove
        /// them.
        public var budget: Int64 = 1 << 30

        /// The order in which entries are evicted when space is needed; by default, the least
        /// recently used entries come first.
        public var evictionOrder = EvictionOrder.leastRecentlyUsed

        /// Limits on the total size of responses with a given tag or from a given origin, within
        /// the budget; none by default.
        public var quotas: [Quota] = []

        /// The memory for entries that are read often, in bytes: heads, bodies up to
        /// ``maximumResidentBody``, objects, and the values decoded from them.
        ///
        /// 64 MiB by default. 0 turns this memory off; other values are at least 64 KiB. The budget
        /// includes the bookkeeping, and an estimate for decoded values. Up to an eighth of it is a
        /// filter that recognizes keys without an entry; with a budget of 0, the filter takes up to
        /// 256 KiB. SQLite's page caches are additional: at most 36 MiB for eight readers, and 16
        /// MiB for the writer. A process that opened the store only for reading keeps only page
        /// caches in memory, so that it sees the writer's changes immediately.
        public var memoryBudget = 64 << 20

        /// The maximum length of a body that is kept in memory, in bytes; 256 KiB by default.
        ///
        /// ``memoryBudget`` is divided into up to 64 parts of at least 2 MiB, and a body takes at
        /// most about a fifth of a part. Larger bodies are read from disk, through the operating
        /// system's page cache. If all variants of a key together are larger, only their heads are
        /// kept when they are read.
        public var maximumResidentBody = 256 << 10

        /// Whether entries that were used before the store was opened are read into memory in the
        /// background, the most recently used ones first.
        ///
        /// Off by default, because a program that opens a store for a moment would read them for
        /// nothing. The gateway turns it on. It takes at most a quarter of the time of one core,
        /// reads at most 64 MiB/s and ``memoryBudget``, and ends when seven eighths of the memory
        /// are in use or the store closes. No other read waits for it.
        public var refillsMemory = false

        /// The number of read-only connections, 1 to 64; 8 by default.
        ///
        /// More connections than processor cores do not help. Other numbers are rejected with
        /// `invalidConfiguration`.
        public var readerCount = 8

        /// The maximum time until a process that only reads notices the writer's commits.
        ///
        /// 250 ms by default, and at least 10 ms. The process polls only while a task reads
        /// ``CacheManager/changes(of:)`` or ``CacheManager/changes(ofObject:as:coder:)``. Each poll
        /// reads a number from the write-ahead log's index.
        public var changeInterval = Duration.milliseconds(250)

        /// The number of bytes written to the write-ahead log before it is copied into the
        /// database.
        ///
        /// `nil`, the default, is a sixteenth of the budget, at least 256 KiB and at most 32 MiB.
        /// Smaller values are raised to 256 KiB. The log stays below twice this size plus 8 MiB,
        /// even under constant reading. Only a reader in another program that does not end its
        /// transaction makes the log grow further. Until that transaction ends, responses that pass
        /// through are not stored, and explicit calls fail with `busy` once the log has twice the
        /// size above.
        public var checkpointThreshold: Int64?

        /// The maximum number of bytes that wait for the disk; 64 MiB by default.
        ///
        /// When the limit is reached, new responses are not stored, so that a slow disk does not
        /// slow down exchanges. Explicit calls wait their turn.
        public var maximumPendingBytes = 64 << 20

        /// The maximum number of variants (responses with different selecting header fields) of one
        /// key; 32 by default, at least 1.
        ///
        /// When there are more, the least recently used variant is removed.
        public var maximumVariantsPerKey = 32

        /// The number of invalidations that are remembered individually; 4,096 by default, at least
        /// 16.
        ///
        /// A response whose request was sent before the oldest remembered invalidation is not
        /// stored, whatever the invalidations covered.
        public var invalidationLogLength = 4096

        /// Whether removed content is overwritten with zeros in the database.
        ///
        /// The write-ahead log, which may still hold the content, is emptied when the writer is
        /// idle. Off by default, because it doubles the writes of a removal and syncs the disk each
        /// time. It does not affect copies that a file system or a disk keeps internally.
        public var securelyDeletes = false

        /// The coder for objects, used by calls that specify no coder; by default JSON with sorted
        /// keys.
        public var coder: any ObjectCoder = JSONObjectCoder()

        /// Counts the durations of reads, transactions and checkpoints; `nil`, the default,
        /// disables the measurements.
        public var telemetry: StoreTelemetry?

        /// Replaces the hash function for keys; tests use one with collisions.
        package var keyHash: (@Sendable ([UInt8]) -> UInt64)?

        /// Creates the default settings.
        public init() {}

        /// Creates the default settings with another budget, in bytes.
        public init(budget: Int64) {
            self.budget = budget
        }
    }
}
