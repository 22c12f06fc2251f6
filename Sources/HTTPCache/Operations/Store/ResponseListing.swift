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
    /// The kind of its partition: `shared`, `principal` or `credentials`.
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

/// A selection of stored responses, read page by page.
public struct ResponseQuery: Sendable, Hashable {
    /// The beginning of their target URIs.
    public var prefix: TargetPrefix?
    /// A tag.
    public var tag: String?
    /// Their state.
    public var state: EntryState?
    /// Only pinned ones, or only others.
    public var isPinned: Bool?
    /// Only responses with greater numbers.
    public var after: Int64
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
        after: Int64 = 0,
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
    /// The responses in the order of their numbers.
    public var responses: [ResponseSummary]
    /// The number to go on after; `nil` if there are no more. A page may have fewer responses than
    /// its limit and still not be the last one, because a read looks at a limited number of rows.
    public var next: Int64?

    /// A page.
    public init(_ responses: [ResponseSummary], next: Int64?) {
        self.responses = responses
        self.next = next
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
