import HTTPCache
public import HTTPCacheSemantics
public import HTTPTypes
public import NIOCore

/// A whole response, for storing and reading directly.
///
/// Its body is in memory. For large bodies use ``CacheManager/responses``, which streams them.
public struct RawResponse: Sendable, Hashable {
    /// The status code.
    public var status: HTTPResponse.Status
    /// The fields, in order.
    public var fields: HTTPFields {
        get { headFields.value }
        set { headFields = HeadFields(newValue) }
    }
    /// The body.
    public var body: ByteBuffer
    /// The fields, as read from the store.
    private(set) var headFields: HeadFields

    /// Creates a response.
    public init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: ByteBuffer = ByteBuffer()) {
        self.init(status: status, headFields: HeadFields(fields), body: body)
    }

    init(status: HTTPResponse.Status, headFields: HeadFields, body: ByteBuffer) {
        self.status = status
        self.headFields = headFields
        self.body = body
    }
}

/// A stored response of any age, with its times.
public struct StoredRawResponse: Sendable, Hashable {
    /// The response.
    public var response: RawResponse
    /// When it was stored.
    public var storedAt: Timestamp
    /// The first instant at which it is no longer live; `nil` if it never expires.
    public var expiresAt: Timestamp?
    /// Whether it was invalidated, so that it must be validated before use.
    public var isInvalidated: Bool
    /// Whether it is no longer live: expired, invalidated, or received while the clock was ahead.
    public var isExpired: Bool
    /// The time since it expired, as of the call that read it; zero if it is live, or if the clock
    /// was turned back.
    public var staleness: Duration
    /// The time since it was stored, as of the call that read it; zero if the clock was turned
    /// back.
    public var age: Duration

    init(response: RawResponse, stored: StoredResponse, at now: Timestamp) {
        self.response = response
        isInvalidated = stored.head.isInvalidated
        storedAt = stored.storedAt
        expiresAt = stored.freshUntil == .distantFuture ? nil : stored.freshUntil
        isExpired = !stored.isLive(at: now)
        staleness = .milliseconds(max(0, expiresAt.map { now.milliseconds(since: $0) } ?? 0))
        age = .milliseconds(max(0, now.milliseconds(since: storedAt)))
    }
}
