package import HTTPCacheSemantics
package import HTTPTypes

/// Rejects a success that looks wrong compared with the stored response, such as a captive portal's
/// page, an empty response, or a list that lost most of its items.
///
/// A rejected response does not replace the stored response. If its head looks wrong, the stored
/// response is served instead (`detail=guarded`), provided that it may be served stale. Otherwise,
/// or if only its body looks wrong, the caller gets the rejected response, but it is not stored.
/// Only responses with status 200 are checked, and only against a stored 200.
public struct GoodDataGuard: Sendable, Hashable {
    /// Whether to reject an empty body if the stored body is not empty.
    public var refusesEmpty = true
    /// Whether to reject a media type that differs from the stored media type. Parameters are
    /// ignored.
    public var refusesOtherMediaType = true
    /// Whether to reject an HTML page, such as a captive portal's, if the stored response is not
    /// HTML. ``refusesOtherMediaType`` includes this case.
    public var refusesHTML = false
    /// The minimum length of JSON, as a share of the stored JSON's length, from 0 to 1. Shorter
    /// JSON is rejected; 0 allows any length. Lengths are compared only if both have the same
    /// content coding.
    public var minimumJSONShare = 0.0

    /// Creates the default guard: empty bodies and different media types are rejected.
    public init() {}

    /// Returns whether to reject the response because of its head.
    func refuses(_ response: HTTPResponse, length: StatedLength?, replacing stored: StoredResponse) -> Bool {
        guard stored.head.status == .ok else { return false }
        return refuses(response, length: length, replacing: stored.head.fields, bodyLength: stored.bodyLength)
    }

    /// Returns whether to reject the response because of its head, compared with a stored 200.
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

    /// Returns whether to reject the response because of its body's length.
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

extension String {
    /// Whether the media type is HTML.
    fileprivate var isHTML: Bool { self == "text/html" || self == "application/xhtml+xml" }
}

extension HTTPFields {
    /// The type and subtype in lowercase, without parameters. RFC 9110 §8.3.1
    fileprivate var mediaType: String? {
        guard let type = self[.contentType]?.mediaType, !type.isEmpty else { return nil }
        return type
    }

    fileprivate var isJSON: Bool {
        guard let type = mediaType else { return false }
        return type == "application/json" || type.hasSuffix("+json")
    }
}
