extension CacheManager {
    /// What can be set about a store.
    ///
    /// The defaults suit a service; a command-line tool may want a smaller budget.
    public struct Configuration: Sendable {
        /// The smallest ``budget``: 4 MiB.
        public static let minimumBudget: Int64 = 4 << 20

        /// Bytes the store's folder may take, the write-ahead log included.
        ///
        /// 1 GiB unless told otherwise.
        ///
        /// From 95 % on, entries are removed in the order of ``evictionOrder``, down to 90 %;
        /// pinned ones stay. One stored thing is at most an eighth of it, and at most 4 GiB.
        /// Databases that were set aside because they were damaged are not counted: they are yours
        /// to examine or remove.
        public var budget: Int64 = 1 << 30

        /// Which entries go first when room is needed: the least recently used ones unless told
        /// otherwise.
        public var evictionOrder = EvictionOrder.leastRecentlyUsed

        /// What responses with some tag, or from some origin, may take together within the budget.
        ///
        /// None unless told otherwise.
        public var quotas: [Quota] = []

        /// Bytes of memory for what is read often: heads, bodies up to ``maximumResidentBody``,
        /// objects, and what was decoded from them.
        ///
        /// 64 MiB unless told otherwise; 0 for none, and 64 KiB at least otherwise. Everything that
        /// is kept counts, and what keeps it; of decoded values an estimate. Up to an eighth of it
        /// tells of keys that nothing is stored under them; where it is 0, up to 256 KiB do. Beside
        /// it are the page caches of SQLite: 36 MiB at most for eight reading connections, and 16
        /// MiB for the writing one. Processes that open the store for reading alone keep nothing in
        /// memory but those, so that they see at once what the writer does.
        public var memoryBudget = 64 << 20

        /// Bytes of the largest body that is kept in memory.
        ///
        /// 256 KiB unless told otherwise, and about a fifth of a part of the memory at most, where
        /// ``memoryBudget`` is in up to 64 parts of 2 MiB or more. Larger ones are read from disk,
        /// where the system's page cache has them. Of a key whose variants are together larger, the
        /// heads alone are kept when they are read.
        public var maximumResidentBody = 256 << 10

        /// Read-only connections, 1 to 64.
        ///
        /// Eight unless told otherwise; more than the processor has cores is of no use. Other
        /// numbers are refused with `invalidConfiguration`.
        public var readerCount = 8

        /// How long it takes at most until a process that reads alone hears of what the writer
        /// committed.
        ///
        /// 250 ms unless told otherwise, and 10 ms at least. It looks for that while anybody waits
        /// for ``CacheManager/changes(of:)``, and not otherwise. Each look reads a number from the
        /// log's index.
        public var changeInterval = Duration.milliseconds(250)

        /// Bytes written to the write-ahead log before it is copied into the database; `nil`, the
        /// default, is a sixteenth of the budget, at least 256 KiB and at most 32 MiB.
        ///
        /// Smaller values count as 256 KiB. The log stays near this size, also while there is
        /// always somebody reading: under twice this and 8 MiB. Only a reader in another program
        /// that does not end its transaction makes it grow beyond. Then responses that pass are not
        /// stored, and at twice that explicit calls fail with `busy`, until it ends.
        public var checkpointThreshold: Int64?

        /// Bytes that may wait for the disk, 64 MiB unless told otherwise.
        ///
        /// Beyond it new responses are not stored, so that a slow disk slows no exchange; explicit
        /// calls wait for their turn.
        public var maximumPendingBytes = 64 << 20

        /// Responses that one key may have, told apart by their selecting fields.
        ///
        /// 32 unless told otherwise, 1 at least; the least recently used goes.
        public var maximumVariantsPerKey = 32

        /// Invalidations that are remembered one by one, 4,096 unless told otherwise, 16 at least.
        ///
        /// A response whose request was sent before the oldest of them is not stored, whatever they
        /// were about.
        public var invalidationLogLength = 4096

        /// Whether removed content is overwritten with zeros in the database, and the log that may
        /// still hold it is emptied when the writer has nothing else to do.
        ///
        /// Off unless told otherwise: it doubles what removing writes, and syncs the disk each
        /// time. What a file system or a disk keeps of its own accord is beyond it.
        public var securelyDeletes = false

        /// Encodes and decodes objects where a call names no other coder: JSON with sorted keys
        /// unless told otherwise.
        public var coder: any ObjectCoder = JSONObjectCoder()

        /// Tests put a hash here that collides.
        package var keyHash: (@Sendable ([UInt8]) -> UInt64)?

        /// The defaults.
        public init() {}

        /// The defaults with another budget, in bytes.
        public init(budget: Int64) {
            self.budget = budget
        }
    }
}
