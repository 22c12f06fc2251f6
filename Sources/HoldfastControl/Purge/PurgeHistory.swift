import HTTPCacheSemantics

/// The last purges of this process, oldest first. It is in memory, so a restart begins a new
/// history.
struct PurgeHistory: Sendable {
    /// A purge, or a failed purge.
    struct Record: Sendable, Hashable, Encodable {
        /// The purge's sequence number. For a failed purge, the last number when it failed.
        var sequence: Int64
        /// Milliseconds since 1970, UTC.
        var at: Int64
        /// The client that requested it.
        var by: String
        var action: PurgeRequest.Action
        /// The selectors, with the values of secret parameters replaced.
        var select: PurgeRequest.Selection
        var reason: String?
        var matched: PurgeResult.Matched?
        /// The problem's code if the purge failed. Part of the purge may be in effect.
        var problem: String?

        enum Outcome: Sendable, Hashable {
            case matched(PurgeResult.Matched)
            case problem(String)
        }

        init(_ purge: PurgeRequest, sequence: Int64, at now: Timestamp, by client: String, outcome: Outcome) {
            self.sequence = sequence
            at = now.milliseconds
            by = client
            action = purge.action
            select = purge.select.redacted
            reason = purge.reason
            switch outcome {
            case .matched(let matched): self.matched = matched
            case .problem(let code): problem = code
            }
        }
    }

    /// Part of the history, as a client receives it.
    struct Page: Sendable, Hashable, Encodable {
        /// The history contains every purge of this process with a greater number. It does not
        /// contain purges by other programs or by unsafe methods.
        var since: Int64
        var purges: [Record]
        /// Whether more purges follow the last one.
        var more: Bool
        /// The last purges that failed since the requested number, not limited by the requested
        /// count.
        var failed: [Record]

        /// The same page for clients that may not see the queries of URLs.
        var withoutQueries: Page {
            var page = self
            for index in page.purges.indices { page.purges[index].select = page.purges[index].select.withoutQueries }
            for index in page.failed.indices { page.failed[index].select = page.failed[index].select.withoutQueries }
            return page
        }
    }

    static let limit = 10_000
    /// The most bytes of selectors that are kept, approximately.
    static let byteLimit = 16 << 20
    /// The most failed purges that are kept. They are kept separately: they have no number from
    /// which a client could continue, and many of them must not push out purges that other clients
    /// still have to read.
    static let failedLimit = 100
    static let failedByteLimit = 1 << 20
    /// The most records on a page.
    static let pageLimit = 1000

    private var purges = RecentRecords(limit: limit, byteLimit: byteLimit)
    private var failed = RecentRecords(limit: failedLimit, byteLimit: failedByteLimit)
    private var since: Int64

    /// - Parameter since: the number of the last invalidation so far.
    init(since: Int64) { self.since = since }

    /// Adds a record. Purges arrive in the order of their numbers.
    mutating func append(_ record: Record) {
        if record.problem == nil {
            for forgotten in purges.append(record) { since = max(since, forgotten.sequence) }
        } else {
            _ = failed.append(record)
        }
    }

    /// The last purges, in order.
    func page(last count: Int) -> Page {
        let first = purges.records.dropLast(count).last?.sequence
        return Page(
            since: since,
            purges: Array(purges.records.suffix(count)),
            more: false,
            failed: failed.records.filter { $0.sequence >= first ?? .min }
        )
    }

    /// The purges with greater numbers, in order.
    func page(after sequence: Int64, atMost count: Int = pageLimit) -> Page {
        let later = purges.records.drop { $0.sequence <= sequence }
        return Page(
            since: since,
            purges: Array(later.prefix(count)),
            more: later.count > count,
            failed: failed.records.filter { $0.sequence >= sequence }
        )
    }
}

/// The last records, oldest first.
private struct RecentRecords: Sendable {
    let limit: Int
    let byteLimit: Int
    private(set) var records: [PurgeHistory.Record] = []
    private var bytes = 0

    init(limit: Int, byteLimit: Int) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// - Returns: the records that were dropped.
    mutating func append(_ record: PurgeHistory.Record) -> [PurgeHistory.Record] {
        records.append(record)
        bytes += record.select.bytes
        var forgotten: [PurgeHistory.Record] = []
        while records.count > limit || (bytes > byteLimit && records.count > 1) {
            let oldest = records.removeFirst()
            bytes -= oldest.select.bytes
            forgotten.append(oldest)
        }
        return forgotten
    }
}
