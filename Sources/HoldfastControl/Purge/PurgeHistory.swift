import HTTPCacheSemantics

/// The last purges of this process, oldest first. The history is kept only in memory, so a restart
/// begins a new one.
struct PurgeHistory: Sendable {
    /// A purge that succeeded or failed.
    struct Record: Sendable, Hashable, Encodable {
        /// The purge's sequence number. For a failed purge, the last sequence number at that time.
        var sequence: Int64
        /// The time of the purge, in milliseconds since 1970 (UTC).
        var at: Int64
        /// The client that requested the purge.
        var by: String
        var action: PurgeRequest.Action
        /// The selectors, with the values of secret parameters replaced.
        var select: PurgeRequest.Selection
        var reason: String?
        var matched: PurgeResult.Matched?
        /// The problem's code if the purge failed; part of the purge may then be in effect. `nil`
        /// if it succeeded.
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

    /// A page of the history, as clients receive it.
    struct Page: Sendable, Hashable, Encodable {
        /// The history contains every purge of this process with a greater sequence number. It does
        /// not contain purges by other programs, or invalidations by unsafe methods.
        var since: Int64
        var purges: [Record]
        /// Whether more purges follow the last purge on this page.
        var more: Bool
        /// The failed purges that are kept and whose sequence numbers are in the requested range.
        /// The requested count does not limit them.
        var failed: [Record]

        /// The same page for clients that must not see the queries of URLs.
        var withoutQueries: Page {
            var page = self
            for index in page.purges.indices { page.purges[index].select = page.purges[index].select.withoutQueries }
            for index in page.failed.indices { page.failed[index].select = page.failed[index].select.withoutQueries }
            return page
        }
    }

    static let limit = 10_000
    /// The approximate maximum size of all selectors, in bytes.
    static let byteLimit = 16 << 20
    /// The maximum number of failed purges. Failed purges are kept separately, because they have no
    /// sequence number of their own from which a client could continue. Many failed purges must not
    /// displace purges that other clients have not read yet.
    static let failedLimit = 100
    static let failedByteLimit = 1 << 20
    /// The maximum number of records on a page.
    static let pageLimit = 1000

    private var purges = RecentRecords(limit: limit, byteLimit: byteLimit)
    private var failed = RecentRecords(limit: failedLimit, byteLimit: failedByteLimit)
    private var since: Int64

    /// Creates an empty history.
    ///
    /// - Parameter since: the number of the last invalidation so far.
    init(since: Int64) { self.since = since }

    /// Adds a record. Records must arrive in the order of their sequence numbers.
    mutating func append(_ record: Record) {
        if record.problem == nil {
            for forgotten in purges.append(record) { since = max(since, forgotten.sequence) }
        } else {
            _ = failed.append(record)
        }
    }

    /// Returns a page with the last purges, in order.
    func page(last count: Int) -> Page {
        let first = purges.records.dropLast(count).last?.sequence
        return Page(
            since: since,
            purges: Array(purges.records.suffix(count)),
            more: false,
            failed: failed.records.filter { $0.sequence >= first ?? .min }
        )
    }

    /// Returns a page of purges with greater sequence numbers, in order.
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

/// The last records, oldest first, limited in number and size.
private struct RecentRecords: Sendable {
    let limit: Int
    let byteLimit: Int
    private(set) var records: [PurgeHistory.Record] = []
    private var bytes = 0

    init(limit: Int, byteLimit: Int) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// Adds a record, and drops the oldest records if a limit is exceeded.
    ///
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
