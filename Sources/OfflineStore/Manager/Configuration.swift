extension CacheManager {
    /// The settings of a store.
    ///
    /// The defaults suit a service; a command-line tool may want a smaller budget.
    public struct Configuration: Sendable {
        /// The smallest ``budget``: 4 MiB.
        public static let minimumBudget: Int64 = 4 << 20

        /// The most bytes that the store's folder may use, including the write-ahead log; 1 GiB by
        /// default.
        ///
        /// At 95 %, entries are evicted in the order of ``evictionOrder``, down to 90 %. Pinned
        /// entries stay. One entry uses at most an eighth of the budget, and at most 4 GiB.
        /// Databases that were set aside because of damage are not included: you can examine or
        /// remove them.
        public var budget: Int64 = 1 << 30

        /// Which entries are evicted first when space is needed; by default the least recently used
        /// ones.
        public var evictionOrder = EvictionOrder.leastRecentlyUsed

        /// Limits on the bytes of responses with some tag, or from some origin, within the budget;
        /// none by default.
        public var quotas: [Quota] = []

        /// Bytes of memory for entries that are read often: heads, bodies up to
        /// ``maximumResidentBody``, objects, and the values decoded from them.
        ///
        /// 64 MiB by default. 0 turns this memory off; other values are at least 64 KiB. The budget
        /// includes the bookkeeping, and an estimate for decoded values. Up to an eighth of it
        /// remembers keys that have no entry; with a budget of 0, up to 256 KiB do. SQLite's page
        /// caches are additional: at most 36 MiB for eight readers, and 16 MiB for the writer. A
        /// process that opened the store only for reading keeps only page caches in memory, so that
        /// it sees the writer's changes immediately.
        public var memoryBudget = 64 << 20

        /// Bytes of the largest body that is kept in memory; 256 KiB by default.
        ///
        /// ``memoryBudget`` is divided into up to 64 parts of at least 2 MiB, and a body takes at
        /// most about a fifth of a part. Larger bodies are read from disk, through the system's
        /// page cache. If the variants of a key are larger together, only their heads are kept when
        /// they are read.
        public var maximumResidentBody = 256 << 10

        /// The number of read-only connections, 1 to 64; 8 by default.
        ///
        /// More connections than processor cores do not help. Other numbers are rejected with
        /// `invalidConfiguration`.
        public var readerCount = 8

        /// The longest time until a process that only reads notices the writer's commits.
        ///
        /// 250 ms by default, and at least 10 ms. The process polls only while a task reads
        /// ``CacheManager/changes(of:)`` or ``CacheManager/changes(ofObject:as:coder:)``. Each poll
        /// reads a number from the log's index.
        public var changeInterval = Duration.milliseconds(250)

        /// Bytes written to the write-ahead log before it is copied into the database.
        ///
        /// `nil`, the default, is a sixteenth of the budget, at least 256 KiB and at most 32 MiB.
        /// Smaller values are raised to 256 KiB. The log stays below twice this plus 8 MiB, even
        /// under constant reading. Only a reader in another program that does not end its
        /// transaction makes it grow further. Then responses that pass through are not stored, and
        /// at twice that size explicit calls fail with `busy`, until the transaction ends.
        public var checkpointThreshold: Int64?

        /// Bytes that may wait for the disk; 64 MiB by default.
        ///
        /// Beyond that, new responses are not stored, so that a slow disk does not slow down
        /// exchanges. Explicit calls wait their turn.
        public var maximumPendingBytes = 64 << 20

        /// The most variants (by selecting fields) that one key may have; 32 by default, at least
        /// 1.
        ///
        /// The least recently used variant is removed.
        public var maximumVariantsPerKey = 32

        /// The number of invalidations that are remembered individually; 4,096 by default, at least
        /// 16.
        ///
        /// A response whose request was sent before the oldest of them is not stored, whatever the
        /// invalidations covered.
        public var invalidationLogLength = 4096

        /// Whether removed content is overwritten with zeros in the database.
        ///
        /// The log that may still hold it is emptied when the writer is idle. Off by default: it
        /// doubles the writes of a removal and syncs the disk each time. It does not affect copies
        /// that a file system or a disk keeps internally.
        public var securelyDeletes = false

        /// Encodes and decodes objects if a call specifies no coder; by default JSON with sorted
        /// keys.
        public var coder: any ObjectCoder = JSONObjectCoder()

        /// Counts the durations of reads, transactions and checkpoints; `nil`, the default,
        /// measures nothing.
        public var telemetry: StoreTelemetry?

        /// Replaces the key hash; tests use one that collides.
        package var keyHash: (@Sendable ([UInt8]) -> UInt64)?

        /// Creates the default settings.
        public init() {}

        /// Creates the default settings with another budget, in bytes.
        public init(budget: Int64) {
            self.budget = budget
        }
    }
}
