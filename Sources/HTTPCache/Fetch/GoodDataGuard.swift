import HTTPCacheSemantics
import HTTPTypes

/// Rejects a success that looks wrong compared with the stored one: a captive portal's page, an
/// empty response, a list that lost most of its items.
///
/// A rejected response does not replace the stored one. If its head looks wrong, the stored
/// response is served instead (`detail=guarded`). If only its body does, the caller gets it, and
/// the store keeps the response it had. Statuses other than 200 and methods other than GET are not
/// checked.
public struct GoodDataGuard: Sendable, Hashable {
    /// An empty body does not replace one that was not empty.
    public var refusesEmpty = true
    /// Another media type (parameters apart) does not replace the stored one.
    public var refusesOtherMediaType = true
    /// A page of HTML, such as a captive portal's, does not replace a response that was none.
    /// ``refusesOtherMediaType`` rejects more than that.
    public var refusesHTML = false
    /// JSON shorter than this share of the stored JSON's bytes does not replace it; 0 lets any
    /// length pass.
    public var minimumJSONShare = 0.0

    /// The defaults: empty bodies and other media types are rejected.
    public init() {}

    /// Whether the head speaks against the response.
    func refuses(_ response: HTTPResponse, length: StatedLength?, replacing stored: StoredResponse) -> Bool {
        guard response.status == .ok, stored.head.status == .ok else { return false }
        if let old = stored.head.fields.mediaType {
            let new = response.headerFields.mediaType
            if refusesOtherMediaType, old != new { return true }
            if refusesHTML, new?.isHTML == true, !old.isHTML { return true }
        }
        guard let length else { return false }
        return refuses(length: length, response.headerFields, replacing: stored)
    }

    /// Whether the body's length speaks against it.
    func refuses(length: StatedLength, _ fields: HTTPFields, replacing stored: StoredResponse) -> Bool {
        guard stored.head.status == .ok else { return false }
        if refusesEmpty, length == 0, stored.bodyLength > 0 { return true }
        guard minimumJSONShare > 0, fields.isJSON, stored.head.fields.isJSON,
            fields[.contentEncoding] == stored.head.fields[.contentEncoding]
        else { return false }
        return length.isBelow(Double(stored.bodyLength) * minimumJSONShare)
    }
}

extension PreparedRequest {
    /// The guard of a stored response. The stored response's type selects the rule, because a
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
    /// Type and subtype in lower case, without parameters. RFC 9110 §8.3.1
    fileprivate var mediaType: String? {
        guard let type = self[.contentType]?.mediaType, !type.isEmpty else { return nil }
        return type
    }

    fileprivate var isJSON: Bool {
        guard let type = mediaType else { return false }
        return type == "application/json" || type.hasSuffix("+json")
    }
}
