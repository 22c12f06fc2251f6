/// The values of a store for metrics: the summary for operators, and more detailed values.
public struct StoreMeasures: Sendable, Hashable {
    /// The use of a quota.
    public struct QuotaUse: Sendable, Hashable {
        /// The quota: `tag:NAME`, `origin:https://a.example`, or `each-origin`.
        public var quota: String
        /// The space in bytes that the quota's responses use. For `each-origin`, the space of the
        /// origin that uses the most.
        public var bytes: Int64
        /// The maximum space in bytes.
        public var limit: Int64

        /// Creates the use of a quota.
        public init(quota: String, bytes: Int64, limit: Int64) {
            self.quota = quota
            self.bytes = bytes
            self.limit = limit
        }
    }

    /// The summary for operators.
    public var summary = StoreSummary()
    /// The size of the database in bytes.
    public var databaseBytes: Int64 = 0
    /// The size of the database's write-ahead log in bytes.
    public var logBytes: Int64 = 0
    /// The size of unused space in the database in bytes.
    public var freeBytes: Int64 = 0
    /// The number of entries that may be used without validation.
    public var fresh = 0
    /// The number of entries past their freshness lifetime that may be served while their origin is
    /// unreachable, not counting invalidated entries.
    public var stale = 0
    /// The size of the entries evicted since the store was opened, in bytes.
    public var evictedBytes: Int64 = 0
    /// The number of times that damaged bytes were read since the store was opened.
    public var damagedReads = 0
    /// The maximum size of entries in memory, in bytes.
    public var memoryBudget: Int64 = 0
    /// The configured quotas, the first 64 in alphabetical order.
    public var quotas: [QuotaUse] = []

    /// Creates the values of an empty store.
    public init() {}
}
