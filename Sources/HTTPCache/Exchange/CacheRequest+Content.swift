import Crypto
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension CacheRequest {
    /// The content as it goes into the key; `nil` for GET and HEAD, whose content has no meaning and is not in the key. RFC 9110 §9.3.1
    var keyContent: CacheKey.Content? {
        guard isContentKeyed, head.method != .get, head.method != .head else { return nil }
        var hash = SHA256()
        if case .buffer(let buffer) = body {
            buffer.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
        }
        return CacheKey.Content(
            type: head.headerFields[.contentType],
            coding: head.headerFields[.contentEncoding],
            sha256: Array(hash.finalize())
        )
    }
}
