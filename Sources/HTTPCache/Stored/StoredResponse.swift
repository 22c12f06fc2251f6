public import HTTPCacheSemantics

/// A response in a store: its head, and the name of its body.
///
/// Two are equal if head and body are. The content in memory makes no difference.
public struct StoredResponse: Sendable, Hashable, Identifiable {
    /// The store's number for the response; never used twice in one store.
    public let id: Int64
    /// The key under which it is stored.
    public let key: CacheKey
    /// The head on which the policy decides.
    public var head: StoredResponseHead
    /// The store's number for the body. Several heads in turn (freshened by 304) may belong to one
    /// body.
    public let bodyID: Int64
    /// Bytes in the body.
    public let bodyLength: Int64
    /// When it was first stored.
    public let storedAt: Timestamp
    /// The parts that are in memory; `nil` if only the head is.
    public var content: ResidentContent?

    /// Creates a stored response. Stores call it.
    public init(
        id: Int64,
        key: CacheKey,
        head: StoredResponseHead,
        bodyID: Int64,
        bodyLength: Int64,
        storedAt: Timestamp,
        content: ResidentContent? = nil
    ) {
        self.id = id
        self.key = key
        self.head = head
        self.bodyID = bodyID
        self.bodyLength = bodyLength
        self.storedAt = storedAt
        self.content = content
    }

    /// Whether head and body are the same.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.id == rhs.id && lhs.bodyID == rhs.bodyID && lhs.bodyLength == rhs.bodyLength && lhs.storedAt == rhs.storedAt
            && lhs.key == rhs.key && lhs.head == rhs.head
    }

    /// Hashes its numbers and its key.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(bodyID)
        hasher.combine(key)
    }
}

/// A response on its way into a store.
public struct ResponseDraft: Sendable {
    /// The key to store it under.
    public var key: CacheKey
    /// The head on which the policy decided.
    public var head: StoredResponseHead
    /// The first instant at which it is stale; `distantFuture` for never. Stores index it, so that
    /// they need not know HTTP.
    public var freshUntil: Timestamp
    /// Whether it may be served stale if the origin cannot be reached.
    public var isUsableStale: Bool
    /// Bytes in the body, if `Content-Length` gave them: a store compares them with its limits
    /// before it computes with them.
    public var expectedLength: StatedLength?
    /// When it is stored: the exchange's `now`.
    public var storedAt: Timestamp
    /// Names by which it can be invalidated together with others, compared byte by byte.
    ///
    /// At most ``maximumTagCount``, of at most ``maximumTagLength`` bytes each. A response with
    /// more is not stored: it would outlive an invalidation by a tag that was dropped.
    public var tags: [String]
    /// Whether it is protected from eviction, from now on.
    ///
    /// `false` removes no pin: a pinned response stays pinned under a new head, and so does its
    /// replacement.
    public var isPinned: Bool
    /// The most tags of one response.
    public static let maximumTagCount = 64
    /// The most bytes in one tag, as UTF-8.
    public static let maximumTagLength = 1024
    /// Whether the number and the lengths of its tags are within the limits.
    public var hasAcceptableTags: Bool {
        tags.count <= Self.maximumTagCount && tags.allSatisfy { $0.utf8.count <= Self.maximumTagLength }
    }
    /// A response to be stored.
    public init(
        key: CacheKey,
        head: StoredResponseHead,
        freshUntil: Timestamp,
        isUsableStale: Bool,
        expectedLength: StatedLength? = nil,
        storedAt: Timestamp,
        tags: [String] = [],
        isPinned: Bool = false
    ) {
        self.key = key
        self.head = head
        self.freshUntil = freshUntil
        self.isUsableStale = isUsableStale
        self.expectedLength = expectedLength
        self.storedAt = storedAt
        self.tags = tags
        self.isPinned = isPinned
    }
}
