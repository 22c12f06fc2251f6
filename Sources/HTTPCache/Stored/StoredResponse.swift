public import HTTPCacheSemantics

/// A stored response: its head, and the ID of its body.
///
/// Two stored responses are equal if their heads and bodies are. Content in memory makes no
/// difference.
public struct StoredResponse: Sendable, Hashable, Identifiable {
    /// The store's number for the response, which is never reused in the same store.
    public let id: Int64
    /// The key under which it is stored.
    public let key: StoreKey
    /// The head that the policy's decisions are based on.
    public var head: StoredResponseHead
    /// The store's number for the body. Successive heads (freshened by 304 responses) may belong to
    /// the same body.
    public let bodyID: Int64
    /// The length of the body in bytes.
    public let bodyLength: Int64
    /// When the response was first stored.
    public let storedAt: Timestamp
    /// The parts that are in memory; `nil` if only the head is.
    public var content: ResidentContent?

    /// Creates a stored response. Only stores call this.
    public init(
        id: Int64,
        key: StoreKey,
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

    /// Returns whether the heads and bodies are the same.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.id == rhs.id && lhs.bodyID == rhs.bodyID && lhs.bodyLength == rhs.bodyLength && lhs.storedAt == rhs.storedAt
            && lhs.key == rhs.key && lhs.head == rhs.head
    }

    /// Hashes the response's numbers and key.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(bodyID)
        hasher.combine(key)
    }
}

/// A response to be stored.
public struct ResponseDraft: Sendable {
    /// The key to store it under.
    public var key: StoreKey
    /// The head that the policy's decision was based on.
    public var head: StoredResponseHead
    /// The first instant at which the response is stale; `distantFuture` if it never becomes stale.
    /// Stores index it, so that they need not know HTTP.
    public var freshUntil: Timestamp
    /// Whether the response may be served stale if the origin is unreachable.
    public var isUsableStale: Bool
    /// The length of the body in bytes, if `Content-Length` states it. A store compares it with its
    /// limits before any arithmetic.
    public var expectedLength: StatedLength?
    /// When the response is stored: the exchange's `now`.
    public var storedAt: Timestamp
    /// Tags by which the response can be invalidated together with others. Tags are compared byte
    /// by byte.
    ///
    /// There can be at most ``maximumTagCount`` tags of at most ``maximumTagLength`` bytes each. A
    /// response that exceeds a limit is not stored, because it would survive an invalidation by a
    /// dropped tag.
    public var tags: [String]
    /// Whether the response is protected from eviction from now on.
    ///
    /// `false` does not remove a pin: a pinned response stays pinned under a new head, and so does
    /// its replacement.
    public var isPinned: Bool
    /// The maximum number of tags of a response.
    public static let maximumTagCount = 64
    /// The maximum length of a tag, in bytes of UTF-8.
    public static let maximumTagLength = 1024
    /// Whether the number and lengths of the tags are within the limits.
    public var hasAcceptableTags: Bool {
        tags.count <= Self.maximumTagCount && tags.allSatisfy { $0.utf8.count <= Self.maximumTagLength }
    }
    /// Creates a draft of a response.
    public init(
        key: StoreKey,
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
