import Crypto
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension CacheRequest {
    /// The request's content, as used in the cache key.
    ///
    /// `nil` for GET and HEAD without content. If a GET or HEAD has content, the key includes it:
    /// RFC 9110 §9.3.1 gives such content no meaning, but some servers read it.
    var keyContent: StoreKey.Content? {
        guard isContentKeyed || hasContent else { return nil }
        var hash = SHA256()
        if case .buffer(let buffer) = body {
            buffer.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
        }
        return StoreKey.Content(
            type: head.headerFields[.contentType],
            coding: head.headerFields[.contentEncoding],
            sha256: Array(hash.finalize())
        )
    }

    private var hasContent: Bool {
        if case .buffer(let buffer) = body { buffer.readableBytes > 0 } else { false }
    }

    /// Whether the key includes the content: always for QUERY, and for POST if the caller opted in.
    /// RFC 10008, RFC 9111 §2
    package var isContentKeyed: Bool {
        head.method.rawValue == "QUERY" || (keysContent && head.method == .post)
    }

    /// Whether a stored response may be served: for GET, HEAD and requests whose content is in the
    /// key.
    ///
    /// Content that can be read only once cannot be in the key, so such a request has no key.
    var isKeyed: Bool {
        if case .stream = body { return false }
        return head.method == .get || head.method == .head || isContentKeyed
    }

    /// Whether the request can be sent again without its caller, because it is safe and its content
    /// is in memory.
    package var isReplayable: Bool {
        if case .stream = body { return false }
        return head.method.isSafe || isContentKeyed
    }

    /// Whether another caller's fetch can serve this request: it is not a HEAD, does not ignore
    /// stored responses, has no `Range`, and has no condition of its own.
    var isCollapsible: Bool {
        guard head.method != .head, !ignoresStored else { return false }
        let fields = head.headerFields
        // In one pass and by index, because a loop over the fields copies each field.
        return !fields.indices.contains { fields[$0].name.asksForPartOrNothing }
    }
}

extension HTTPField.Name {
    /// Whether the field requests a range or makes the request conditional. RFC 9110 §13.1, §14.2
    var asksForPartOrNothing: Bool {
        // Compare the length first, because this runs for every field of every request.
        switch canonicalName.utf8.count {
        case 5: canonicalName == "range"
        case 8: canonicalName == "if-range" || canonicalName == "if-match"
        case 13: canonicalName == "if-none-match"
        case 17: canonicalName == "if-modified-since"
        case 19: canonicalName == "if-unmodified-since"
        default: false
        }
    }
}
