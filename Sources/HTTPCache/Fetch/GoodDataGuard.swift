package import HTTPCacheSemantics
package import HTTPTypes

/// Rejects a success that looks wrong compared with the stored one: a captive portal's page, an
/// empty response, a list that lost most of its items.
///
/// A rejected response does not replace the stored one. If its head looks wrong, the stored
/// response is served instead (`detail=guarded`). If only its body does, the caller gets it, and
/// the stored response stays. Only GET responses with status 200 are checked.
public struct GoodDataGuard: Sendable, Hashable {
    /// An empty body does not replace one that was not empty.
    public var refusesEmpty = true
    /// A different media type (ignoring parameters) does not replace the stored one.
    public var refusesOtherMediaType = true
    /// An HTML page, such as a captive portal's, does not replace a response that was not HTML.
    /// ``refusesOtherMediaType`` rejects more than that.
    public var refusesHTML = false
    /// JSON shorter than this share of the stored JSON's length does not replace it; 0 allows any
    /// length.
    public var minimumJSONShare = 0.0

    /// Creates the default guard: empty bodies and different media types are rejected.
    public init() {}

    /// Whether to reject the response because of its head.
    func refuses(_ response: HTTPResponse, length: StatedLength?, replacing stored: StoredResponse) -> Bool {
        guard stored.head.status == .ok else { return false }
        return refuses(response, length: length, replacing: stored.head.fields, bodyLength: stored.bodyLength)
    }

    /// The same for the fields of a stored 200 and the bytes of its body.
    package func refuses(
        _ response: HTTPResponse,
        length: StatedLength?,
        replacing stored: HTTPFields,
        bodyLength: Int64
    ) -> Bool {
        guard response.status == .ok else { return false }
        if let old = stored.mediaType {
            let new = response.headerFields.mediaType
            if refusesOtherMediaType, old != new { return true }
            if refusesHTML, new?.isHTML == true, !old.isHTML { return true }
        }
        guard let length else { return false }
        return refuses(length: length, response.headerFields, replacing: stored, bodyLength: bodyLength)
    }

    /// Whether to reject it because of the body's length.
    func refuses(length: StatedLength, _ fields: HTTPFields, replacing stored: StoredResponse) -> Bool {
        guard stored.head.status == .ok else { return false }
        return refuses(length: length, fields, replacing: stored.head.fields, bodyLength: stored.bodyLength)
    }

    private func refuses(
        length: StatedLength,
        _ fields: HTTPFields,
        replacing stored: HTTPFields,
        bodyLength: Int64
    ) -> Bool {
        if refusesEmpty, length == 0, bodyLength > 0 { return true }
        guard minimumJSONShare > 0, fields.isJSON, stored.isJSON,
            fields[.contentEncoding] == stored[.contentEncoding]
        else { return false }
        return length.isBelow(Double(bodyLength) * minimumJSONShare)
    }
}

extension PreparedRequest {
    /// The guard for a stored response. The stored response's type selects the rule, because a
    /// response that looks wrong may have any type.
    func goodDataGuard(for stored: StoredResponse, _ options: EngineOptions) -> GoodDataGuard? {
        let guarding = options.goodDataGuard ?? request.goodDataGuard
        guard let rules else { return guarding }
        return rules.settings(for: stored.head.fields).goodDataGuard.resolved(guarding)
    }
}

extension String {
    /// Whether a media type is that of a web page.
    fileprivate var isHTML: Bool { self == "text/html" || self == "application/xhtml+xml" }
}

extension HTTPFields {
    /// Type and subtype in lowercase, without parameters. RFC 9110 §8.3.1
    fileprivate var mediaType: String? {
        guard let type = self[.contentType]?.mediaType, !type.isEmpty else { return nil }
        return type
    }

    fileprivate var isJSON: Bool {
        guard let type = mediaType else { return false }
        return type == "application/json" || type.hasSuffix("+json")
    }
}
