package import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
package import OfflineStore

extension CacheManager {
    /// Stores a response of a principal, as the engine does.
    ///
    /// - Parameter fencingNumber: the last invalidation when its request was sent.
    /// - Returns: whether it was stored.
    package func storeResponse(
        of name: String,
        _ index: Int,
        bytes: Int,
        fencingNumber: InvalidationSequence
    ) async throws -> Bool {
        let now = FixedClock().now()
        let target = try TargetURI("https://a.example/\(index)")
        let draft = ResponseDraft(
            key: StoreKey(partition: .principal(name), target: target),
            head: StoredResponseHead(status: .ok, fields: [:], requestTime: now, responseTime: now),
            freshUntil: now.adding(.seconds(60)),
            isUsableStale: true,
            storedAt: now
        )
        guard let writer = try await responses.beginWrite(draft, fencingNumber: fencingNumber) else { return false }
        try await writer.append(ByteBuffer(repeating: UInt8(ascii: "x"), count: bytes))
        return try await writer.finish() != nil
    }
}
