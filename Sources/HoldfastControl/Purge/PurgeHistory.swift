import HTTPCacheSemantics

/// The last purges of this process, the oldest first. It is in memory: a restart begins a new one.
struct PurgeHistory: Sendable {
    /// One purge, or one that failed.
    struct Record: Sendable, Hashable, Encodable {
        /// The number of the purge; of a failed one, the last number when it failed.
        var sequence: Int64
        /// Milliseconds since 1970, UTC.
        var at: Int64
        /// The client that asked for it.
        var by: String
        var action: PurgeRequest.Action
        /// Secret parameters are replaced.
        var select: PurgeRequest.Selection
        var reason: String?
        var matched: PurgeResult.Matched?
        /// The code of the problem if it failed. A part of it may be in force.
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

    /// A part of the history, as a client gets it.
    struct Page: Sendable, Hashable, Encodable {
        /// The history has every purge of this process with a greater number. Purges of other
        /// programs, and those of unsafe methods, are not in it.
        var since: Int64
        var purges: [Record]
        /// Whether there are more after the last one.
        var more: Bool
        /// The last purges that failed since the number that was asked for, whatever their number.
        var failed: [Record]

        /// The same for clients that may not see queries of URLs.
        var withoutQueries: Page {
            var page = self
            for index in page.purges.indices { page.purges[index].select = page.purges[index].select.withoutQueries }
            for index in page.failed.indices { page.failed[index].select = page.failed[index].select.withoutQueries }
            return page
        }
    }

    static let limit = 10_000
    /// The most bytes of selectors that are kept, about.
    static let byteLimit = 16 << 20
    /// The same for purges that failed. They are kept apart: they have no number from which a
    /// client could continue, and many of them must not push out those that others still have to
    /// read.
    static let failedLimit = 100
    static let failedByteLimit = 1 << 20
    /// The most records of a page.
    static let pageLimit = 1000

    private var purges = RecentRecords(limit: limit, byteLimit: byteLimit)
    private var failed = RecentRecords(limit: failedLimit, byteLimit: failedByteLimit)
    private var since: Int64

    /// - Parameter since: the number of the last invalidation so far.
    init(since: Int64) { self.since = since }

    /// Adds a record. Purges come in the order of their numbers.
    mutating func append(_ record: Record) {
        if record.problem == nil {
            for forgotten in purges.append(record) { since = max(since, forgotten.sequence) }
        } else {
            _ = failed.append(record)
        }
    }

    /// The last purges, in their order.
    func page(last count: Int) -> Page {
        let first = purges.records.dropLast(count).last?.sequence
        return Page(
            since: since,
            purges: Array(purges.records.suffix(count)),
            more: false,
            failed: failed.records.filter { $0.sequence >= first ?? .min }
        )
    }

    /// The purges with greater numbers, in their order.
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

/// The last records, the oldest first.
private struct RecentRecords: Sendable {
    let limit: Int
    let byteLimit: Int
    private(set) var records: [PurgeHistory.Record] = []
    private var bytes = 0

    init(limit: Int, byteLimit: Int) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// - Returns: the records that had to go.
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
