import HTTPCacheSemantics
import HTTPTypes

/// Refuses a success that looks wrong beside the stored one: a captive portal's page, an empty
/// answer, a list that lost most of its items.
///
/// What is refused does not take the stored response's place. Where its head gives it away, the
/// stored response is served instead (`detail=guarded`); where only its body does, the caller has
/// it, and the store keeps what it had. Statuses other than 200 and methods other than GET are not
/// looked at.
public struct GoodDataGuard: Sendable, Hashable {
    /// An empty body does not replace one that was not.
    public var refusesEmpty = true
    /// Another media type (parameters apart) does not replace the stored one.
    public var refusesOtherMediaType = true
    /// A page of HTML does not replace what was none: a captive portal's, say.
    /// ``refusesOtherMediaType`` is more than that.
    public var refusesHTML = false
    /// JSON shorter than this share of the stored JSON's bytes does not replace it; 0 lets any
    /// length pass.
    public var minimumJSONShare = 0.0

    /// The defaults: empty bodies and other media types are refused.
    public init() {}

    /// What the head says against the response.
    func refuses(_ response: HTTPResponse, length: Int64?, replacing stored: StoredResponse) -> Bool {
        guard response.status == .ok, stored.head.status == .ok else { return false }
        if let old = stored.head.fields.mediaType {
            let new = response.headerFields.mediaType
            if refusesOtherMediaType, old != new { return true }
            if refusesHTML, new?.isHTML == true, !old.isHTML { return true }
        }
        guard let length else { return false }
        return refuses(length: length, response.headerFields, replacing: stored)
    }

    /// What the body's length says against it.
    func refuses(length: Int64, _ fields: HTTPFields, replacing stored: StoredResponse) -> Bool {
        guard stored.head.status == .ok else { return false }
        if refusesEmpty, length == 0, stored.bodyLength > 0 { return true }
        guard minimumJSONShare > 0, fields.isJSON, stored.head.fields.isJSON,
            fields[.contentEncoding] == stored.head.fields[.contentEncoding]
        else { return false }
        return Double(length) < Double(stored.bodyLength) * minimumJSONShare
    }
}

extension PreparedRequest {
    /// What keeps a stored response: the type of what is to be kept tells the rule, because that of
    /// what looks wrong may be any.
    func goodDataGuard(for stored: StoredResponse, _ options: EngineOptions) -> GoodDataGuard? {
        let guarding = options.goodDataGuard ?? request.goodDataGuard
        guard let rules else { return guarding }
        return rules.settings(for: stored.head.fields).goodDataGuard.resolved(guarding)
    }
}

extension String {
    /// Whether a media type is a web page's.
    fileprivate var isHTML: Bool { self == "text/html" || self == "application/xhtml+xml" }
}

extension HTTPFields {
    /// Type and subtype in lower case, without parameters. RFC 9110 §8.3.1
    fileprivate var mediaType: String? {
        guard let value = self[.contentType] else { return nil }
        let type = value.prefix { $0 != ";" }.lowercased()
        return type.split(whereSeparator: { $0 == " " || $0 == "\t" }).first.map(String.init)
    }

    fileprivate var isJSON: Bool {
        guard let type = mediaType else { return false }
        return type == "application/json" || type.hasSuffix("+json")
    }
}
