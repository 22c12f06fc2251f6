import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// A response read and made a value: an emission, and the bytes it was made of.
struct Delivery<Value: Sendable>: Sendable {
    var emission: Emission<Value>
    /// The content as it came.
    var bytes: ByteBuffer
    /// The stored body behind it.
    var bodyID: Int64?
    /// When the stored response behind it came.
    var receivedAt: Timestamp?
    /// Whether the stored response behind it was invalidated.
    var isInvalidated = false
    /// The response's `Content-Encoding`, where there is one.
    var codings: HTTPFields = [:]
    /// Bytes that decoding may make of it.
    var limit = 0

    /// Which stored response is behind it, as it was then; `nil` where none is.
    var version: StoredVersion? { bodyID.map { StoredVersion(bodyID: $0, receivedAt: receivedAt) } }

    /// Whether the content is the same. What was compressed twice may differ as it came, and be the
    /// same all the same.
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

/// A stored response as it was at a time: a 304 makes another one of it.
struct StoredVersion: Hashable, Sendable {
    var bodyID: Int64
    var receivedAt: Timestamp?
}

extension Emission {
    init(_ value: Value, of response: CacheResponse, isUnchanged: Bool = false) {
        self.init(
            value: value,
            source: response.source,
            age: .milliseconds(response.age),
            isStale: response.isStale,
            isUnchanged: isUnchanged,
            status: response.head.status,
            fields: response.head.headerFields,
            outcome: response.outcome
        )
    }
}
