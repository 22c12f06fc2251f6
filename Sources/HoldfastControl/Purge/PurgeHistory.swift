import HTTPCacheSemantics

/// The last purges of this process, the oldest first. It is in memory: a restart begins a new one.
struct PurgeHistory: Sendable {
    /// One purge.
    struct Record: Sendable, Hashable, Encodable {
        var sequence: Int64
        /// Milliseconds since 1970, UTC.
        var at: Int64
        /// The client that asked for it.
        var by: String
        var action: PurgeRequest.Action
        /// Secret parameters are replaced.
        var select: PurgeRequest.Selection
        var reason: String?
        var matched: PurgeResult.Matched
    }

    /// A part of the history, as a client gets it.
    struct Page: Sendable, Hashable, Encodable {
        /// The history has every purge of this process with a greater number. Purges of other
        /// programs, and those of unsafe methods, are not in it.
        var since: Int64
        var purges: [Record]
        /// Whether there are more after the last one.
        var more: Bool
    }

    static let limit = 10_000
    /// The most bytes of selectors that are kept, about.
    static let byteLimit = 16 << 20
    /// The most records of a page.
    static let pageLimit = 1000

    private var records: [Record] = []
    private var bytes = 0
    private var since: Int64

    /// - Parameter since: the number of the last invalidation so far.
    init(since: Int64) { self.since = since }

    mutating func append(_ record: Record) {
        // Purges may end in another order than they were numbered in.
        let place = records.lastIndex { $0.sequence < record.sequence }.map { $0 + 1 } ?? 0
        records.insert(record, at: place)
        bytes += record.select.bytes
        while records.count > Self.limit || (bytes > Self.byteLimit && records.count > 1) {
            let oldest = records.removeFirst()
            bytes -= oldest.select.bytes
            since = max(since, oldest.sequence)
        }
    }

    /// The purges with greater numbers, in their order.
    func page(after sequence: Int64, atMost count: Int = pageLimit) -> Page {
        let later = records.drop { $0.sequence <= sequence }
        return Page(since: since, purges: Array(later.prefix(count)), more: later.count > count)
    }
}
