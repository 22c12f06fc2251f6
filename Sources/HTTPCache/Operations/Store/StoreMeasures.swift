/// Numbers about a store for metrics: those for operators, and what they are made of.
public struct StoreMeasures: Sendable, Hashable {
    /// The use of a quota.
    public struct QuotaUse: Sendable, Hashable {
        /// `tag:NAME`, `origin:https://a.example`, or `each-origin`.
        public var quota: String
        /// The bytes of its responses; for `each-origin`, those of the origin with the most.
        public var bytes: Int64
        /// The most that they may take.
        public var limit: Int64

        /// The use of a quota.
        public init(quota: String, bytes: Int64, limit: Int64) {
            self.quota = quota
            self.bytes = bytes
            self.limit = limit
        }
    }

    /// The numbers for operators.
    public var summary = StoreSummary()
    /// Bytes of the database.
    public var databaseBytes: Int64 = 0
    /// Bytes of its log.
    public var logBytes: Int64 = 0
    /// Bytes in the database that are not in use.
    public var freeBytes: Int64 = 0
    /// Entries that may be used as they are.
    public var fresh = 0
    /// Entries past their lifetime that may be served while their origin is unreachable, without
    /// the invalidated ones.
    public var stale = 0
    /// Bytes of the entries that were evicted since the store was opened.
    public var evictedBytes: Int64 = 0
    /// How often damaged bytes were read since the store was opened.
    public var damagedReads = 0
    /// The most bytes that entries may take in memory.
    public var memoryBudget: Int64 = 0
    /// The configured quotas, the first 64 in alphabetical order.
    public var quotas: [QuotaUse] = []

    /// The numbers of an empty store.
    public init() {}
}
