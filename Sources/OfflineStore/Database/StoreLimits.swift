import StoreMemory

/// The limits that follow from a configuration.
package struct StoreLimits: Sendable {
    package static let chunkLength = 65_536
    /// The most chunks in a body: a chunk's index is 16 bits of its row's number.
    package static let chunksPerBody = 65_536
    package static let pageSize: Int64 = 8192
    /// The approximate bytes of an entry's row and index entries.
    static let entryOverhead: Int64 = 320
    /// The approximate bytes of a tag's row and index entries for one entry.
    static let tagOverhead: Int64 = 40
    /// The bytes that one tag adds to a transaction. It is large, so that the pages touched by a
    /// transaction's tags stay within the log's limit.
    static let tagLogOverhead: Int64 = 4096
    /// The bytes of the lock, the sidecar, `CURRENT` and the log's index.
    static let fixedFiles: Int64 = 128 * 1024
    /// A disk with less free space than this counts as full, because SQLite reports some of its
    /// failures there as disk errors.
    static let fullDiskBytes: Int64 = 128 * 1024

    /// The most bytes that the folder may use.
    var budget: Int64
    /// The most bytes in an entry.
    var maximumObject: Int64
    /// The most bytes of a body in one transaction.
    var transaction: Int
    /// The bytes written to the log before a checkpoint.
    var checkpoint: Int64
    /// The bytes that may wait for the writer before new responses are declined.
    var pending: Int
    var variantsPerKey: Int
    var invalidationLog: Int64
    var readerCount: Int
    var securelyDeletes: Bool
    var quotas: QuotaTable
    var evictionOrder: CacheManager.EvictionOrder
    /// The bytes of the memory tier, without the key filter.
    var memory: Int
    /// The largest body that is kept in the memory tier, in bytes.
    var residentBody: Int
    /// The size of the key filter, in bytes: 16 bits for each 512-byte entry that fits in the
    /// budget, but at most 8 MiB, and at most an eighth of the memory budget. Without a memory
    /// tier, at most 256 KiB instead of an eighth, because storing an entry would otherwise read
    /// the disk to check whether its key is new.
    var filter: Int

    /// The most operations in a transaction. Each touches its own page of the key index, and all
    /// these pages go to the log.
    var batch: Int
    /// The most entries that one step of a sweep examines. Steps are short, because a hit that
    /// shares a core with the sweep may have to wait for one.
    var sweepStep: Int { max(16, batch / 16) }
    /// The most entries that one call stores in a transaction. No other caller waits in it, so this
    /// may exceed ``batch``: an index page shared by several entries is written once.
    var entriesTogether: Int { max(batch, min(4096, Int(checkpoint / Self.pageSize))) }
    /// The most bytes of the entries that one call stores in a transaction.
    var bytesTogether: Int { 2 * transaction }
    /// The most bytes that bodies may take on disk before they have an entry and can be evicted.
    var unfinished: Int64 { max(maximumObject, budget / 4) }
    /// Returns the bytes of a body that are on disk before it has an entry: none if one transaction
    /// writes the whole body.
    func room(for length: Int64) -> Int64 {
        length < Int64(transaction) ? 0 : length
    }
    /// The largest size of the log between two checkpoints, including the transaction that exceeds
    /// the threshold.
    var log: Int64 { 2 * checkpoint + 3 * Int64(transaction) }
    /// The largest size of the log while a reader that never finishes keeps it from being reused.
    /// Beyond it, nothing more is stored.
    var heldLog: Int64 { 2 * log }
    /// The most bytes of removed bodies that are still being read for which other entries are
    /// evicted.
    var held: Int64 { budget / 4 }
    var highWater: Int64 { budget / 100 * 95 }
    var lowWater: Int64 { budget / 100 * 90 }

    package init(_ configuration: CacheManager.Configuration) throws {
        guard configuration.budget >= CacheManager.Configuration.minimumBudget else {
            throw StoreError(
                code: .invalidConfiguration,
                message: "A budget of '\(configuration.budget)' bytes is too small for a store. "
                    + "The minimum is \(CacheManager.Configuration.minimumBudget). Raise 'budget'."
            )
        }
        guard (1...64).contains(configuration.readerCount) else {
            throw StoreError(
                code: .invalidConfiguration,
                message:
                    "'\(configuration.readerCount)' is not a valid number of reading connections. Set 'readerCount' to 1 to 64."
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
                message: "'memoryBudget' is \(configuration.memoryBudget) bytes and 'maximumResidentBody' is "
                    + "\(configuration.maximumResidentBody) bytes. Set both to 0 or more."
            )
        }
        let filterShare = configuration.memoryBudget == 0 ? 256 << 10 : max(4096, configuration.memoryBudget / 8)
        filter = min(max(4096, Int(clamping: budget / 256)), filterShare, 8 << 20)
        memory = configuration.memoryBudget == 0 ? 0 : max(64 * 1024, configuration.memoryBudget - filter)
        residentBody = min(configuration.maximumResidentBody, memory == 0 ? .max : MemoryTier.largestBody(memory))
    }
}
