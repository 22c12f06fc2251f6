import Crypto
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension CacheRequest {
    /// Returns the request's content, as used in the cache key.
    ///
    /// - Parameter settings: the rules for the request.
    /// - Returns: `nil` for GET and HEAD without content. If a GET or HEAD has content, the key
    ///   includes it: RFC 9110 §9.3.1 gives such content no meaning, but some servers read it.
    func keyContent(_ settings: ExchangeSettings?) -> StoreKey.Content? {
        guard hasKeyContent else { return nil }
        return StoreKey.Content(
            type: head.headerFields[.contentType],
            coding: head.headerFields[.contentEncoding],
            sha256: contentDigest ?? settings.flatMap { canonicalJSON($0)?.sha256 } ?? bodyDigest
        )
    }

    /// Whether the content is known only by a digest that the rules do not key: they key another
    /// form of the content, or no content.
    func hasOtherDigest(_ settings: ExchangeSettings?) -> Bool {
        guard head.method == .post, contentDigest != nil else { return false }
        guard let form = settings?.contentForm else { return true }
        guard let digestForm else { return false }
        if form == .graphQL, digestForm != .graphQL { return true }
        return isJSON && !form.hasDigest(of: digestForm)
    }

    private var bodyDigest: [UInt8] {
        var hash = SHA256()
        if case .buffer(let buffer) = body {
            buffer.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
        }
        return Array(hash.finalize())
    }

    /// Returns the content of a POST whose rule keys JSON. Returns `nil` for other requests, and
    /// for content that has no canonical form: its bytes are keyed.
    func canonicalJSON(_ settings: ExchangeSettings) -> CanonicalJSON? {
        guard settings.keyedContent == .json, head.method == .post, let json = jsonContent else { return nil }
        return try? CanonicalJSON(json, ignoring: settings.ignoredMembers)
    }

    /// Returns the outline of JSON content, without the members that are not in the key; `nil` for
    /// other content.
    ///
    /// - Parameter salt: see ``JSONOutline/init(_:ignoring:salt:)``.
    func jsonOutline(_ settings: ExchangeSettings?, salt: String) -> JSONOutline? {
        guard let json = jsonContent else { return nil }
        let ignored = settings?.keyedContent == .json ? settings?.ignoredMembers : nil
        return try? JSONOutline(json, ignoring: ignored ?? MemberPaths([]), salt: salt)
    }

    /// The content, if the request says that it is JSON.
    private var jsonContent: [UInt8]? {
        guard case .buffer(let buffer)? = body, isJSON else { return nil }
        return Array(buffer.readableBytesView)
    }

    /// Whether the request says that the content is JSON.
    private var isJSON: Bool {
        guard let type = plainMediaType else { return false }
        return type == "application/json" || type.hasSuffix("+json")
    }

    /// Whether the key has the request's content: see ``keyContent(_:)``.
    var hasKeyContent: Bool { hasContent || isContentKeyed }

    private var hasContent: Bool {
        if case .buffer(let buffer) = body { buffer.readableBytes > 0 } else { contentDigest != nil }
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
