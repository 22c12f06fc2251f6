import Crypto
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension CacheRequest {
    /// The content as it goes into the key.
    ///
    /// `nil` for GET and HEAD without content. If they have content, they are keyed by it, so that
    /// the content sent is the content keyed (RFC 9110 §9.3.1 gives such content no meaning, but
    /// servers that read it exist).
    var keyContent: CacheKey.Content? {
        guard isContentKeyed || hasContent else { return nil }
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

    private var hasContent: Bool {
        if case .buffer(let buffer) = body { buffer.readableBytes > 0 } else { false }
    }
}
