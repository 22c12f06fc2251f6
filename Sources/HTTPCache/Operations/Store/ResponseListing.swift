public import HTTPCacheSemantics
public import HTTPTypes

/// The state of a stored entry at an instant, in one word.
public enum EntryState: String, Sendable, Hashable, CaseIterable, Codable {
    /// May be used as it is.
    case fresh
    /// Past its lifetime, and still good when the origin cannot be reached.
    case stale
    /// Past its lifetime, and not usable without validation by the origin.
    case expired
    /// Invalidated by a purge or a successful write, and kept for when the origin is unreachable.
    case invalidated
    /// A part of it does not match its checksum: it is not served any more.
    case damaged
}

/// A store's content, for operators.
public protocol StoreListing: Sendable {
    /// Numbers about the store, as of now. It may read an index of all entries.
    ///
    /// - Throws: the store's error if it cannot be read.
    func summary() async throws -> StoreSummary

    /// The numbers for metrics, as of now. It may read an index of all entries.
    ///
    /// - Throws: the store's error if it cannot be read.
    func measures() async throws -> StoreMeasures

    /// The bytes that wait to be written.
    var pendingWriteBytes: Int { get }

    /// Reads a page of the stored responses. It looks at a limited number of rows.
    ///
    /// - Throws: the store's error if it cannot be read.
    func responses(_ query: ResponseQuery) async throws -> ResponsePage

    /// Reads the variants of a key, at most 1,000, by ``ResponseSummary/id``.
    ///
    /// - Parameter showingQueries: see ``ResponseQuery/showsQueries``.
    /// - Throws: the store's error if it cannot be read.
    func responses(withID id: String, showingQueries: Bool) async throws -> [ResponseDetails]

    /// The response with a number, if it has this ID; `nil` if there is none, or if it is damaged.
    ///
    /// - Throws: the store's error if it cannot be read.
    func storedResponse(_ entry: Int64, withID id: String) async throws -> StoredResponse?
}

/// One stored response, without its fields and its body.
public struct ResponseSummary: Sendable, Hashable {
    /// The store's number for it. It is not used again.
    public var entry: Int64
    /// 16 hexadecimal digits, the same for all variants of a key.
    public var id: String
    /// Its state.
    public var state: EntryState
    /// The request's method.
    public var method: HTTPRequest.Method?
    /// The target URI, whose query may be replaced; `nil` if the key is damaged.
    public var url: String?
    /// The kind of its partition: `common`, `principal` or `credentials`.
    public var partition: String?
    /// The response's status.
    public var status: HTTPResponse.Status?
    /// Its media type.
    public var contentType: String?
    /// The bytes of its body.
    public var bodyLength: Int64
    /// When it was first stored.
    public var storedAt: Timestamp
    /// The first instant at which it is stale; `nil` if it never is.
    public var expiresAt: Timestamp?
    /// The last use that is recorded on disk.
    public var lastUsedAt: Timestamp
    /// Whether it may be served stale while its origin is unreachable.
    public var isUsableStale: Bool
    /// Whether it is never evicted.
    public var isPinned: Bool
    /// The request fields that `Vary` selects by.
    public var selectingNames: [String]

    /// Makes a summary.
    public init(entry: Int64, id: String, state: EntryState, bodyLength: Int64, storedAt: Timestamp) {
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

/// An order of stored responses that a store can list page by page.
public struct ResponseOrder: Sendable, Hashable {
    /// The number by which responses are ordered.
    public enum Key: String, Sendable, Hashable, CaseIterable {
        /// When they were stored: the order of their numbers.
        case stored
        /// When they are stale.
        case expires
        /// When they were used last, as far as that is on disk. Pinned ones are left out: they have
        /// no place in the order of eviction.
        case used
        /// The bytes that they take.
        case size
    }

    /// The number.
    public var key: Key
    /// Whether the greatest comes first.
    public var isDescending: Bool

    /// An order.
    public init(_ key: Key, isDescending: Bool = false) {
        self.key = key
        self.isDescending = isDescending
    }

    /// An order by its name: `size`, and `-size` for the greatest first.
    public init?(_ text: String) {
        let isDescending = text.hasPrefix("-")
        guard let key = Key(rawValue: String(text.dropFirst(isDescending ? 1 : 0))) else { return nil }
        self.init(key, isDescending: isDescending)
    }

    /// The names of all orders.
    public static let names = Key.allCases.flatMap { [$0.rawValue, "-\($0.rawValue)"] }
}

/// Where a listing continues: behind a response in an order. Clients get it as a text and give it
/// back.
public struct ResponseCursor: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    /// The numbers by which the order is decided.
    package var values: [Int64]

    package init(_ values: [Int64]) { self.values = values }

    /// Behind the response with a number, in the order of storing.
    public init(integerLiteral value: Int64) { values = [value] }

    /// The cursor of a text; `nil` if it is none.
    public init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false).map { Int64($0) }
        guard (1...7).contains(parts.count), !parts.contains(nil) else { return nil }
        values = parts.compactMap(\.self)
    }

    /// The text.
    public var description: String { values.map(String.init).joined(separator: "_") }

    /// A cursor of another order.
    public struct Invalid: Error, Sendable, Hashable, CustomStringConvertible {
        /// A sentence.
        public var description: String { "The cursor belongs to a different sort order." }

        /// The error.
        public init() {}
    }
}

/// A selection of stored responses, read page by page.
public struct ResponseQuery: Sendable, Hashable {
    /// The beginning of their target URIs.
    public var prefix: TargetPrefix?
    /// The host of their target URIs.
    public var host: TargetHost?
    /// The port of their target URIs.
    public var port: UInt16?
    /// A tag.
    public var tag: String?
    /// Their state.
    public var state: EntryState?
    /// Only pinned ones, or only others.
    public var isPinned: Bool?
    /// Their order.
    public var order = ResponseOrder(.stored)
    /// Only responses behind this one; `nil` for the first page.
    public var after: ResponseCursor?
    /// The most responses of a page.
    public var limit: Int
    /// Whether URLs have their queries. Otherwise `REDACTED` stands in place of each, because it
    /// may hold secrets.
    public var showsQueries = false

    /// Every response, the first stored one first.
    public init(
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

/// A part of a listing.
public struct ResponsePage: Sendable, Hashable {
    /// The responses in their order.
    public var responses: [ResponseSummary]
    /// The position to continue after; `nil` if there are no more. A page may have fewer responses
    /// than its limit and still not be the last one, because a read looks at a limited number of
    /// rows.
    public var next: ResponseCursor?
    /// The number of entries that were looked at.
    public var examined: Int

    /// A page.
    public init(_ responses: [ResponseSummary], next: ResponseCursor?, examined: Int = 0) {
        self.responses = responses
        self.next = next
        self.examined = examined
    }
}

/// A stored response with its fields, whose secrets are replaced.
public struct ResponseDetails: Sendable, Hashable {
    /// The response.
    public var summary: ResponseSummary
    /// Its tags.
    public var tags: [String]
    /// Its fields; empty if its head is damaged.
    public var fields: HTTPFields
    /// The fields of its request that `Vary` selects by.
    public var selectingFields: HTTPFields

    /// Makes a description.
    public init(_ summary: ResponseSummary, tags: [String], fields: HTTPFields, selectingFields: HTTPFields) {
        self.summary = summary
        self.tags = tags
        self.fields = fields
        self.selectingFields = selectingFields
    }
}
