import HTTPCache
import HTTPCacheSemantics
import NIOCore

/// A response read and made a value: an emission, and the octets it was made of.
struct Delivery<Value: Sendable>: Sendable {
    var emission: Emission<Value>
    /// The content as it came.
    var bytes: ByteBuffer
    /// The stored body behind it.
    var bodyID: Int64?
    /// When the stored response behind it came.
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
            outcome: response.outcome
        )
    }
}
