import HTTPCache

/// The values of a store for metrics: the summary for operators, and more detailed values.
package struct StoreMeasures: Sendable, Hashable {
    /// The summary for operators.
    package var summary = StoreSummary()
    /// The size of the database in bytes.
    package var databaseBytes: Int64 = 0
    /// The size of the database's write-ahead log in bytes.
    package var logBytes: Int64 = 0
    /// The size of unused space in the database in bytes.
    package var freeBytes: Int64 = 0
    /// The number of entries that may be used without validation.
    package var fresh = 0
    /// The number of entries past their freshness lifetime that may be served while their origin is
    /// unreachable, not counting invalidated entries.
    package var stale = 0
    /// The size of the entries evicted since the store was opened, in bytes.
    package var evictedBytes: Int64 = 0
    /// The number of times that damaged bytes were read since the store was opened.
    package var damagedReads = 0
    /// The maximum size of entries in memory, in bytes.
    package var memoryBudget: Int64 = 0
    /// The configured quotas, the first 64 in alphabetical order.
    package var quotas: [QuotaUse] = []

    /// Creates the values of an empty store.
    package init() {}
}
