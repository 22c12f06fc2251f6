import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// A response that was read: an emission, and the bytes that it was derived from.
struct Delivery<Value: Sendable>: Sendable {
    var emission: Emission<Value>
    /// The content as received.
    var bytes: ByteBuffer
    /// The ID of the stored body that was read.
    var bodyID: Int64?
    /// When the stored response was received.
    var receivedAt: Timestamp?
    /// Whether the stored response was invalidated.
    var isInvalidated = false
    /// The response's `Content-Encoding`, if there is one.
    var codings: HTTPFields = [:]
    /// The maximum number of bytes that decoding may produce.
    var limit = 0
    /// The redirects that led to the response.
    var redirects: FollowedRedirects?

    /// The version of the stored response that was read; `nil` if there was no stored response.
    var version: StoredVersion? { bodyID.map { StoredVersion(bodyID: $0, receivedAt: receivedAt) } }

    /// Returns whether the content is the same. Content that was compressed twice may be the same
    /// even if the bytes differ.
    func hasSameContent(as other: Delivery) -> Bool {
        if bytes == other.bytes { return codings == other.codings }
        guard !codings.isEmpty || !other.codings.isEmpty else { return false }
        let (mine, others) = (try? plain(), try? other.plain())
        return mine != nil && mine == others
    }

    private func plain() throws -> ByteBuffer {
        try bytes.decoded(codings: codings, upTo: limit, of: MessageTarget("a value"))
    }
}

/// A version of a stored response. A 304 creates a new version.
struct StoredVersion: Hashable, Sendable {
    var bodyID: Int64
    var receivedAt: Timestamp?
}

extension Emission {
    init(_ value: Value, of response: CacheResponse, isUnchanged: Bool = false) {
        self.init(
            value: value,
            source: response.source,
            age: response.age,
            isStale: response.isStale,
            isUnchanged: isUnchanged,
            status: response.head.status,
            fields: response.head.headerFields,
            outcome: response.outcome
        )
    }
}
