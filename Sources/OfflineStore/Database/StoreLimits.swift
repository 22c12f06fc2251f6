/// The numbers that follow from a configuration.
struct StoreLimits: Sendable {
    static let chunkLength = 65_536
    /// Chunks in one body at most: their index is 16 bits of their row's number.
    static let chunksPerBody = 65_536
    static let pageSize: Int64 = 8192
    /// Rows and index entries of one stored thing, roughly.
    static let entryOverhead: Int64 = 320
    /// Rows and index entries of one tag of one stored thing, roughly.
    static let tagOverhead: Int64 = 40
    /// What counts for one tag in a transaction: so few of them are in one that the pages they
    /// touch stay within the log's limit.
    static let tagLogOverhead: Int64 = 4096
    /// The lock, the sidecar, `CURRENT` and the log's index.
    static let fixedFiles: Int64 = 128 * 1024

    /// Bytes the folder may take.
    var budget: Int64
    /// Bytes one stored thing may have.
    var maximumObject: Int64
    /// Bytes of a body in one transaction at most.
    var transaction: Int
    /// Bytes written to the log before a checkpoint.
    var checkpoint: Int64
    /// Bytes that wait for the writer before new responses are declined.
    var pending: Int
    var variantsPerKey: Int
    var invalidationLog: Int64
    var readerCount: Int
    var securelyDeletes: Bool
    var quotas: QuotaTable
    var evictionOrder: CacheManager.EvictionOrder
    /// Bytes of the memory tier, without the filter.
    var memory: Int
    /// Bytes of a body that is kept in memory, at most.
    var residentBody: Int
    /// Bytes of the filter of keys: sixteen bits for each entry of 512 bytes that has room in the
    /// budget, and no more than an eighth of the memory. Without a memory tier 256 KiB at most:
    /// storing something new would ask the disk whether it is new.
    var filter: Int

    /// Operations in one transaction at most: each touches a page of the index of keys that few
    /// others touch, and all of them go to the log.
    var batch: Int
    /// Entries that a call stores in one transaction at most. Nobody else waits in it, so they may
    /// be more than ``batch``: an index page that several of them are on is written once.
    var entriesTogether: Int { max(batch, min(4096, Int(checkpoint / Self.pageSize))) }
    /// Bytes of them at most.
    var bytesTogether: Int { 2 * transaction }
    /// Bytes that bodies may take on disk before they have an entry and can be evicted.
    var unfinished: Int64 { max(maximumObject, budget / 4) }
    /// Bytes of a body that are on disk before it has an entry: none when one transaction takes
    /// them all.
    func room(for length: Int64) -> Int64 {
        length < Int64(transaction) ? 0 : length
    }
    /// What the log may come to between two checkpoints, with the transaction that goes beyond.
    var log: Int64 { 2 * checkpoint + 3 * Int64(transaction) }
    /// What the log may come to while a reader that does not end keeps it from being used anew:
    /// then nothing more is stored.
    var heldLog: Int64 { 2 * log }
    /// Bytes of bodies that are no longer stored but still being read, for which others make room
    /// by going.
    var held: Int64 { budget / 4 }
    var highWater: Int64 { budget / 100 * 95 }
    var lowWater: Int64 { budget / 100 * 90 }

    init(_ configuration: CacheManager.Configuration) throws {
        guard configuration.budget >= CacheManager.Configuration.minimumBudget else {
            throw StoreError(
                code: .invalidConfiguration,
                message: "The budget of '\(configuration.budget)' bytes is too small for a store; "
                    + "the least is \(CacheManager.Configuration.minimumBudget). Raise 'budget'."
            )
        }
        guard (1...64).contains(configuration.readerCount) else {
            throw StoreError(
                code: .invalidConfiguration,
                message:
                    "'\(configuration.readerCount)' reading connections are not possible; choose 1 to 64 for 'readerCount'."
            )
        }
        budget = configuration.budget
        maximumObject = min(budget / 8, Int64(Self.chunkLength * Self.chunksPerBody))
        let share = Int(min(budget / 32, 4 << 20)) / Self.chunkLength * Self.chunkLength
        transaction = max(Self.chunkLength, share)
        checkpoint = max(256 * 1024, configuration.checkpointThreshold ?? min(budget / 16, 32 << 20))
        batch = Int(max(16, min(2048, checkpoint / Self.pageSize)))
        pending = configuration.maximumPendingBytes
        variantsPerKey = max(1, configuration.maximumVariantsPerKey)
        invalidationLog = Int64(max(16, configuration.invalidationLogLength))
        readerCount = configuration.readerCount
        securelyDeletes = configuration.securelyDeletes
        quotas = try QuotaTable(configuration.quotas)
        evictionOrder = configuration.evictionOrder
        guard configuration.memoryBudget >= 0, configuration.maximumResidentBody >= 0 else {
            throw StoreError(
                code: .invalidConfiguration,
                message: "A memory tier of '\(configuration.memoryBudget)' bytes is not possible; "
                    + "give 'memoryBudget' and 'maximumResidentBody' 0 or more."
            )
        }
        let filterShare = configuration.memoryBudget == 0 ? 256 << 10 : max(4096, configuration.memoryBudget / 8)
        filter = min(max(4096, Int(clamping: budget / 256)), filterShare, 8 << 20)
        memory = configuration.memoryBudget == 0 ? 0 : max(64 * 1024, configuration.memoryBudget - filter)
        residentBody = min(configuration.maximumResidentBody, memory == 0 ? .max : MemoryTier.largestBody(memory))
    }
}
