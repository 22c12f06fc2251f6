public import HTTPCache
public import HTTPCacheSemantics
import HTTPTypes

/// The store's content for operators.
extension CacheManager: StoreListing {
    /// The numbers of ``statistics()`` that operators need.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func summary() async throws -> StoreSummary { Self.summary(try await statistics()) }

    /// The numbers of ``statistics()`` that metrics need.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func measures() async throws -> StoreMeasures {
        let statistics = try await statistics()
        var measures = StoreMeasures()
        measures.summary = Self.summary(statistics)
        measures.databaseBytes = statistics.databaseBytes
        measures.logBytes = statistics.logBytes
        measures.freeBytes = statistics.freeBytes
        measures.fresh = statistics.responses + statistics.objects - statistics.expired
        measures.stale = statistics.stale
        measures.evictedBytes = statistics.evictedBytes
        measures.damagedReads = statistics.damagedReads
        measures.memoryBudget = statistics.memoryBudget
        measures.quotas = statistics.quotas
        return measures
    }

    /// The bytes that wait for the writer.
    public var pendingWriteBytes: Int { (try? core.database().writer?.pendingBytes) ?? 0 }

    private static func summary(_ statistics: StoreStatistics) -> StoreSummary {
        var summary = StoreSummary()
        summary.responses = statistics.responses
        summary.objects = statistics.objects
        summary.storedBytes = statistics.storedBytes
        summary.usedBytes = statistics.databaseBytes - statistics.freeBytes + statistics.logBytes
        summary.budget = statistics.budget
        summary.expired = statistics.expired
        summary.usableStale = statistics.usableStale
        summary.invalidated = statistics.invalidated
        summary.damaged = statistics.damagedEntries
        summary.pinned = statistics.pinned
        summary.evicted = statistics.evictedEntries
        summary.residentBytes = statistics.residentBytes
        summary.readOnly = statistics.isReadOnly
        return summary
    }

    /// The most rows that a page examines.
    static let listingExamination = 10_000
    /// The rows of one read, so that no reader and no checkpoint waits for it.
    private static let listingRead: Int64 = 512

    /// Reads a page of the stored responses in short reads, of at most 10,000 rows altogether.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func responses(_ query: ResponseQuery) async throws -> ResponsePage {
        let now = now()
        let tag = try query.tag.map(tagNumber)
        // No response has a tag that the store does not know.
        if case .some(.none) = tag { return ResponsePage([], next: nil) }
        let prefix = query.prefix?.canonicalBytes
        var page = ResponsePage([], next: query.after)
        var examined = 0
        while let cursor = page.next, examined < Self.listingExamination, page.responses.count < query.limit {
            let read = try rows(after: cursor, tag: tag.flatMap(\.self))
            examined += read.rows
            page.next = read.last
            for entry in read.entries where entry.kind == .response {
                if let state = query.state, state != entry.state(at: now) { continue }
                if let isPinned = query.isPinned, isPinned != entry.isPinned { continue }
                guard entry.begins(with: prefix) else { continue }
                page.responses.append(entry.summary(at: now, showingQuery: query.showsQueries))
                guard page.responses.count == query.limit else { continue }
                page.next = entry.id
                break
            }
        }
        return page
    }

    /// Reads the responses with a short name, at most 1,000, with their fields.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func responses(withID id: String, showingQueries: Bool) async throws -> [ResponseDetails] {
        let now = now()
        guard id.utf8.count == 16 else { return [] }
        var found: [ResponseDetails] = []
        for entry in try await entries(withShortIDPrefix: id) where entry.kind == .response {
            let head = try await response(of: entry)?.head
            found.append(
                ResponseDetails(
                    entry.summary(at: now, showingQuery: showingQueries),
                    tags: try await tags(of: entry),
                    fields: head.map { redactedFields($0.fields) } ?? [:],
                    selectingFields: head.map { redactedFields($0.selectingFields) } ?? [:]
                )
            )
        }
        return found
    }

    private func tagNumber(_ name: String) throws -> Int64? {
        try core.read { connection, database in
            guard database.state.has(DatabaseState.tagSchemaVersion) else { return nil }
            return try TagName(name, database.state).number(connection)
        }
    }

    /// Reads some rows.
    ///
    /// - Returns: `last` is the number of the last row; `nil` if there are no more.
    private func rows(after cursor: Int64, tag: Int64?) throws -> (entries: [StoreEntry], rows: Int, last: Int64?) {
        try core.read { connection, database in
            let query = tag == nil ? Self.listingQuery : Self.taggedQuery
            let statement = try connection.prepare(query.sql(database.state))
            defer { statement.reset() }
            statement.bind(1, cursor)
            statement.bind(2, Self.listingRead)
            if let tag { statement.bind(3, tag) }
            var (entries, rows, last): ([StoreEntry], Int, Int64) = ([], 0, cursor)
            while try statement.step() {
                rows += 1
                last = statement.integer(0)
                if let record = EntryRecord(statement, database.state) { entries.append(StoreEntry(record)) }
            }
            return (entries, rows, rows < Self.listingRead ? nil : last)
        }
    }

    private static let listingQuery = EntryRecord.Query("entry.id > ?1 ORDER BY entry.id LIMIT ?2")
    private static let taggedQuery = EntryRecord.Query(
        "entry.id IN (SELECT entry_id FROM entry_tag WHERE tag_id = ?3 AND entry_id > ?1 ORDER BY entry_id LIMIT ?2) "
            + "ORDER BY entry.id"
    )
}

extension StoreEntry {
    /// Its state at an instant, in one word.
    public func state(at now: Timestamp) -> EntryState {
        if isDamaged { return .damaged }
        if isInvalidated { return .invalidated }
        if !isExpired(at: now) { return .fresh }
        return kind == .response && isUsableStale ? .stale : .expired
    }

    func summary(at now: Timestamp, showingQuery: Bool) -> ResponseSummary {
        var summary = ResponseSummary(
            entry: id,
            id: shortID,
            state: state(at: now),
            bodyLength: bodyLength,
            storedAt: storedAt
        )
        summary.method = method
        summary.url = showingQuery ? target?.uri : redactedURI.map(Self.withoutQuery)
        summary.partition = partition?.rawValue
        summary.status = status
        summary.contentType = contentType
        summary.expiresAt = expiresAt
        summary.lastUsedAt = lastUsedAt
        summary.isUsableStale = isUsableStale
        summary.isPinned = isPinned
        summary.selectingNames = selectingNames
        return summary
    }

    private var target: TargetURI? {
        guard case .response(let key) = key else { return nil }
        return key.components.target
    }

    private static func withoutQuery(_ uri: String) -> String {
        guard let mark = uri.firstIndex(of: "?") else { return uri }
        return uri[...mark] + Redaction.placeholder
    }

    /// Whether its target URI begins with a prefix; true for every entry if there is none.
    fileprivate func begins(with prefix: [UInt8]?) -> Bool {
        guard let prefix else { return true }
        guard case .response(let key) = key else { return false }
        return prefix.withUnsafeBytes { prefix in
            key.bytes.withUnsafeBytes { TargetPrefix.covers(prefix: prefix, key: $0) }
        }
    }
}
