package import HTTPCache
package import HTTPCacheOperations
package import HTTPCacheSemantics
import HTTPTypes

/// The store's content, for operators.
extension CacheManager: StoreListing {
    /// The number of bytes that wait for the writer.
    package var pendingWriteBytes: Int { (try? core.database().writer?.pendingBytes) ?? 0 }

    /// The maximum number of rows examined for one page.
    static let listingExamination = 10_000
    /// The number of rows per read. Longer reads would delay other readers and checkpoints.
    private static let listingRead: Int64 = 512
    /// The number of entries returned by one pass over all entries, if the query has conditions
    /// that some of them may not meet.
    private static let listingPass = 4096

    /// Returns a page of the stored responses. Examines at most 10,000 rows, in several short
    /// reads.
    ///
    /// Ordering by size takes one pass over an index of all entries per page: see ``SizeListing``.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`; `ResponseCursor.Invalid`.
    @concurrent
    package func responses(_ query: ResponseQuery, under rules: RulesInForce?) async throws -> ResponsePage {
        let tag = try query.tag.map(core.tagNumber)
        // No response has a tag that the store does not know.
        if case .some(.none) = tag { return ResponsePage([], next: nil) }
        var page = PageReading(query, under: rules, at: now())
        if query.order == ResponseOrder(.stored) {
            try readStored(into: &page, tag: tag.flatMap(\.self))
        } else {
            try readOrdered(into: &page, tag: tag.flatMap(\.self))
        }
        return page.page
    }

    /// Reads a page in storage order: rows are read directly.
    private func readStored(into page: inout PageReading, tag: Int64?) throws {
        guard (page.query.after?.values.count ?? 1) == 1 else { throw ResponseCursor.Invalid() }
        var cursor: Int64? = page.query.after?.values.first ?? 0
        while let after = cursor, page.hasRoom {
            let read = try rows(after: after, tag: tag, under: page.rules) { page.mayTake($0) }
            page.page.examined += read.rows
            page.page.next = read.last.map { ResponseCursor([$0]) }
            cursor = read.last
            for entry in read.entries where page.take(entry) {
                if !page.hasRoom { return page.page.next = ResponseCursor([entry.id]) }
            }
        }
    }

    /// Reads a page in another order: positions are read first, and then their rows.
    private func readOrdered(into page: inout PageReading, tag: Int64?) throws {
        var cursor = page.query.after
        while page.hasRoom {
            // A pass over all entries is expensive, so one pass must suffice for the page.
            let isPass = page.query.order.key == .size
            let passCount = page.query.isSelecting ? Self.listingPass : page.query.limit
            let count = isPass ? passCount : Int(Self.listingRead)
            let places = try places(after: cursor, in: page.query.order, count: count)
            var rest = places[...]
            while !rest.isEmpty {
                let part = rest.prefix(Int(Self.listingRead))
                rest = rest.dropFirst(part.count)
                for (entry, place) in try entries(at: part, tag: tag, under: page.rules, where: { page.mayTake($0) })
                where page.take(entry) {
                    guard page.page.responses.count == page.query.limit else { continue }
                    page.page.examined +=
                        (part.firstIndex { $0.id == entry.id } ?? part.startIndex) - part.startIndex + 1
                    page.page.next = place
                    return
                }
                page.page.examined += part.count
            }
            page.page.next = places.count < count ? nil : places.last?.cursor
            cursor = page.page.next
            if cursor == nil || isPass { return }
        }
    }

    /// A page that is being read, and the conditions for entries on it.
    private struct PageReading {
        let query: ResponseQuery
        let rules: RulesInForce?
        private let now: Timestamp
        private let prefix: [UInt8]?
        private let host: [UInt8]?
        var page: ResponsePage

        init(_ query: ResponseQuery, under rules: RulesInForce?, at now: Timestamp) {
            self.query = query
            self.rules = rules
            self.now = now
            prefix = query.prefix?.canonicalBytes
            host = query.host?.canonicalBytes
            page = ResponsePage([], next: nil)
        }

        var hasRoom: Bool {
            page.examined < CacheManager.listingExamination && page.responses.count < query.limit
        }

        /// Returns whether an entry may be on the page, as far as is known before its head is
        /// decoded.
        func mayTake(_ record: EntryRecord) -> Bool {
            guard record.kind == .response, query.isPinned.map({ $0 == record.isPinned }) ?? true,
                record.begins(with: prefix), record.begins(with: host)
            else { return false }
            return query.port.map { StoreKey(bytes: record.key)?.components.target.port == $0 } ?? true
        }

        /// Adds an entry to the page if it meets the conditions.
        ///
        /// - Returns: whether the entry is on the page.
        mutating func take(_ entry: StoreEntry) -> Bool {
            guard page.responses.count < query.limit else { return false }
            if let state = query.state, state != entry.state(at: now) { return false }
            page.responses.append(entry.summary(at: now, showingQuery: query.showsQueries))
            return true
        }
    }

    /// Returns the responses that have a short ID, at most 1,000, with their fields.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func responses(
        withID id: String,
        showingQueries: Bool,
        under rules: RulesInForce?
    ) async throws -> [ResponseDetails] {
        let now = now()
        guard id.utf8.count == 16 else { return [] }
        var found: [ResponseDetails] = []
        for entry in try await entries(withShortIDPrefix: id, under: rules) where entry.kind == .response {
            let head = try await response(of: entry)?.head
            found.append(
                ResponseDetails(
                    entry.summary(at: now, showingQuery: showingQueries),
                    tags: try await tags(of: entry),
                    fields: head.map { Redaction.fields($0.fields, hidesQueries: !showingQueries) } ?? [:],
                    selectingFields: head.map { Redaction.fields($0.selectingFields, hidesQueries: !showingQueries) }
                        ?? [:]
                )
            )
        }
        return found
    }

    /// Returns the response with an entry number; `nil` if there is none with this short ID.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func storedResponse(_ entry: Int64, withID id: String) async throws -> StoredResponse? {
        guard id.utf8.count == 16,
            let found = try await entries(withShortIDPrefix: id).first(where: { $0.id == entry && $0.kind == .response }
            )
        else { return nil }
        return try await response(of: found)
    }

    /// Reads some rows.
    ///
    /// - Returns: the wanted entries, the number of rows read, and the number of the last row;
    ///   `nil` if there are no more rows.
    private func rows(
        after cursor: Int64,
        tag: Int64?,
        under rules: RulesInForce?,
        where isWanted: (EntryRecord) -> Bool
    ) throws -> (entries: [StoreEntry], rows: Int, last: Int64?) {
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
                guard let record = EntryRecord(statement, database.state), isWanted(record) else { continue }
                entries.append(StoreEntry(record, under: rules))
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

extension ResponseQuery {
    /// Whether the query excludes any responses.
    fileprivate var isSelecting: Bool {
        prefix != nil || host != nil || port != nil || tag != nil || state != nil || isPinned != nil
    }
}

extension StoreEntry {
    /// Returns the entry's state at an instant.
    package func state(at now: Timestamp) -> EntryState {
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
        summary.url = showingQuery ? target?.uri : redactedURI.map(Redaction.withoutQuery)
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
}

extension EntryRecord {
    /// Returns whether the entry's target URI begins with a prefix, or has a host; `true` if
    /// `prefix` is `nil`.
    fileprivate func begins(with prefix: [UInt8]?) -> Bool {
        guard let prefix else { return true }
        return prefix.withUnsafeBytes { prefix in
            key.withUnsafeBytes { TargetPrefix.covers(prefix: prefix, key: $0) }
        }
    }
}
