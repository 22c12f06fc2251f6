package import HTTPCache
package import HTTPCacheSemantics
package import HTTPTypes

/// The state of a stored entry at an instant, in one word.
package enum EntryState: String, Sendable, Hashable, CaseIterable, Codable {
    /// It may be used without validation.
    case fresh
    /// It is past its freshness lifetime, but may be served if the origin is unreachable.
    case stale
    /// It is past its freshness lifetime, and may not be used without validation by the origin.
    case expired
    /// It was invalidated by a purge, by the program or by a successful unsafe request, and must be
    /// validated before use. While the origin is unreachable, it may still be served, unless an
    /// unsafe request invalidated it.
    case invalidated
    /// Part of it does not match its checksum, so it is no longer served.
    case damaged
}

/// Lists a store's content for operators.
package protocol StoreListing: Sendable {
    /// Returns the store's current numbers. It may read an index of all entries.
    ///
    /// - Throws: the store's error if it cannot be read.
    func statistics() async throws -> StoreStatistics

    /// The number of bytes waiting to be written.
    var pendingWriteBytes: Int { get }

    /// Reads a page of the stored responses. Each call examines a limited number of rows.
    ///
    /// - Parameter rules: decide the state and the expiry; `nil` for the rules that were in force
    ///   when each response was stored. A running engine always uses its own.
    /// - Throws: the store's error if it cannot be read.
    func responses(_ query: ResponseQuery, under rules: RulesInForce?) async throws -> ResponsePage

    /// Reads the variants of a key, at most 1,000, given its ``ResponseSummary/id``.
    ///
    /// - Parameters:
    ///   - showingQueries: see ``ResponseQuery/showsQueries``.
    ///   - rules: see ``responses(_:under:)``.
    /// - Throws: the store's error if it cannot be read.
    func responses(
        withID id: String,
        showingQueries: Bool,
        under rules: RulesInForce?
    ) async throws -> [ResponseDetails]

    /// Returns the response with the given number and ID; `nil` if there is none, or if it is
    /// damaged.
    ///
    /// - Throws: the store's error if it cannot be read.
    func storedResponse(_ entry: Int64, withID id: String) async throws -> StoredResponse?
}

extension StoreListing {
    /// Reads a page of the stored responses, without rules of the caller.
    package func responses(_ query: ResponseQuery) async throws -> ResponsePage {
        try await responses(query, under: nil)
    }

    /// Reads the variants of a key, without rules of the caller.
    package func responses(withID id: String, showingQueries: Bool) async throws -> [ResponseDetails] {
        try await responses(withID: id, showingQueries: showingQueries, under: nil)
    }
}

/// A stored response without its fields and body.
package struct ResponseSummary: Sendable, Hashable {
    /// The store's number for the response, which is never reused.
    package var entry: Int64
    /// The ID of the key: 16 hexadecimal digits, the same for all variants of a key.
    package var id: String
    /// The response's state.
    package var state: EntryState
    /// The request's method.
    package var method: HTTPRequest.Method?
    /// The target URI, whose query may be redacted; `nil` if the key is damaged.
    package var url: String?
    /// The kind of partition: `common`, `principal` or `credentials`.
    package var partition: String?
    /// The response's status.
    package var status: HTTPResponse.Status?
    /// The response's media type.
    package var contentType: String?
    /// The length of the body in bytes.
    package var bodyLength: Int64
    /// When the response was first stored.
    package var storedAt: Timestamp
    /// The first instant at which the response is stale; `nil` if it never becomes stale.
    package var expiresAt: Timestamp?
    /// The last use recorded on disk.
    package var lastUsedAt: Timestamp
    /// Whether the response may be served stale while its origin is unreachable.
    package var isUsableStale: Bool
    /// Whether the response is exempt from eviction.
    package var isPinned: Bool
    /// The request fields named in `Vary`.
    package var selectingNames: [String]

    /// Creates a summary.
    package init(entry: Int64, id: String, state: EntryState, bodyLength: Int64, storedAt: Timestamp) {
        self.entry = entry
        self.id = id
        self.state = state
        self.bodyLength = bodyLength
        self.storedAt = storedAt
        lastUsedAt = storedAt
        isUsableStale = false
        isPinned = false
        selectingNames = []
    }
}

/// A sort order in which a store can list responses page by page.
package struct ResponseOrder: Sendable, Hashable {
    /// The sort key.
    package enum Key: String, Sendable, Hashable, CaseIterable {
        /// The time at which responses were stored. This is also the order of their numbers.
        case stored
        /// The time at which responses become stale.
        case expires
        /// The last use recorded on disk. Pinned responses are omitted, because they are not in the
        /// eviction order.
        case used
        /// The space that responses use.
        case size
    }

    /// The sort key.
    package var key: Key
    /// Whether the greatest value comes first.
    package var isDescending: Bool

    /// Creates an order.
    package init(_ key: Key, isDescending: Bool = false) {
        self.key = key
        self.isDescending = isDescending
    }

    /// Creates an order from its name: `size`, or `-size` for the greatest value first.
    package init?(_ text: String) {
        let isDescending = text.hasPrefix("-")
        guard let key = Key(rawValue: String(text.dropFirst(isDescending ? 1 : 0))) else { return nil }
        self.init(key, isDescending: isDescending)
    }

    /// The names of all orders.
    package static let names = Key.allCases.flatMap { [$0.rawValue, "-\($0.rawValue)"] }
}

/// The position at which a listing continues: after a response in a sort order. Clients receive it
/// as text and send it back.
package struct ResponseCursor: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    /// The values of the sort keys at the position.
    package var values: [Int64]

    package init(_ values: [Int64]) { self.values = values }

    /// Creates a cursor after the response with the given number, in the order in which responses
    /// were stored.
    package init(integerLiteral value: Int64) { values = [value] }

    /// Parses a cursor; returns `nil` if the text is not a cursor.
    package init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false).map { Int64($0) }
        guard (1...7).contains(parts.count), !parts.contains(nil) else { return nil }
        values = parts.compactMap(\.self)
    }

    /// The cursor as text.
    package var description: String { values.map(String.init).joined(separator: "_") }

    /// The error for a cursor of a different sort order.
    package struct Invalid: Error, Sendable, Hashable, CustomStringConvertible {
        /// The error message.
        package var description: String { "The cursor belongs to a different sort order." }

        /// Creates the error.
        package init() {}
    }
}

/// A query for stored responses, which are read page by page.
package struct ResponseQuery: Sendable, Hashable {
    /// The prefix of the target URIs.
    package var prefix: TargetPrefix?
    /// The host of the target URIs.
    package var host: TargetHost?
    /// The port of the target URIs.
    package var port: UInt16?
    /// A tag of the responses.
    package var tag: String?
    /// The state of the responses.
    package var state: EntryState?
    /// Whether the responses must be pinned (`true`) or not pinned (`false`).
    package var isPinned: Bool?
    /// The sort order.
    package var order = ResponseOrder(.stored)
    /// The position to continue after; `nil` for the first page.
    package var after: ResponseCursor?
    /// The maximum number of responses on a page.
    package var limit: Int
    /// Whether URLs include their queries. If they do not, `REDACTED` replaces each query, because
    /// it may contain secrets.
    package var showsQueries = false

    /// Creates a query, by default for every response, in the order in which responses were stored.
    package init(
        prefix: TargetPrefix? = nil,
        tag: String? = nil,
        state: EntryState? = nil,
        after: ResponseCursor? = nil,
        limit: Int
    ) {
        self.prefix = prefix
        self.tag = tag
        self.state = state
        self.after = after
        self.limit = limit
    }
}

/// A page of a listing.
package struct ResponsePage: Sendable, Hashable {
    /// The responses, in order.
    package var responses: [ResponseSummary]
    /// The position to continue after; `nil` if there are no more responses. A page with fewer
    /// responses than the limit is not necessarily the last page, because each read examines a
    /// limited number of rows.
    package var next: ResponseCursor?
    /// The number of entries that were examined.
    package var examined: Int

    /// Creates a page.
    package init(_ responses: [ResponseSummary], next: ResponseCursor?, examined: Int = 0) {
        self.responses = responses
        self.next = next
        self.examined = examined
    }
}

/// A stored response with its fields, in which secrets are replaced.
package struct ResponseDetails: Sendable, Hashable {
    /// The response's summary.
    package var summary: ResponseSummary
    /// The response's tags.
    package var tags: [String]
    /// The response's fields; empty if its head is damaged.
    package var fields: HTTPFields
    /// The request's fields that are named in `Vary`.
    package var selectingFields: HTTPFields

    /// Creates the details of a response.
    package init(_ summary: ResponseSummary, tags: [String], fields: HTTPFields, selectingFields: HTTPFields) {
        self.summary = summary
        self.tags = tags
        self.fields = fields
        self.selectingFields = selectingFields
    }
}
