import HTTPCacheSemantics
import HTTPTypes

/// The scheme by which the client reached the gateway, if it selects variants.
enum ClientScheme {
    /// The origin is told of no scheme, or a rule says that it makes no difference.
    case irrelevant
    /// `X-Forwarded-Proto` of the request states it.
    case stated
    /// Another value than the request has there, or none.
    case selecting(HTTPField?)

    /// - Parameters:
    ///   - presented: the request as it came.
    ///   - request: the same without the fields that rules remove or set.
    init(_ presented: CacheRequest, sentAs request: CacheRequest, _ settings: ExchangeSettings?) {
        if settings?.ignoredFields.contains(.clientScheme) == true {
            self = .irrelevant
            return
        }
        let fields = request.head.headerFields
        var isStated = false
        var others = ""
        var isTold = false
        // By index, because a loop over the fields would copy each one; lengths first.
        for index in fields.indices {
            let name = fields[index].name.canonicalName
            switch name.utf8.count {
            case 17 where name == HTTPField.Name.clientScheme.canonicalName: isStated = true
            case 9 where name == "forwarded":
                isTold = true
                // A trusted proxy adds an element of its own, which may state another scheme.
                if fields[index].value.utf8.contains(UInt8(ascii: ",")) {
                    others += Self.separator + Self.schemes(in: fields[index].value)
                }
            case 8...26 where Self.names.contains(name):
                isTold = true
                others += Self.separator + name + "=" + Self.word(for: fields[index].value)
            default: break
            }
        }
        guard isStated || isTold || settings?.requestFields.isEmpty != false else {
            self = .irrelevant
            return
        }
        if isStated, others.isEmpty {
            self = .stated
            return
        }
        let own = presented.head.headerFields[.clientScheme]
        self = .selecting(
            own == nil && others.isEmpty ? nil : HTTPField(name: .clientScheme, value: (own ?? "") + others)
        )
    }

    /// Before the statements of proxies. A value with it is only compared, never sent.
    static let separator = ";"

    /// Further fields in which trusted proxies state the scheme of their clients. Those of other
    /// clients are dropped before (``RequestFieldTable``).
    private static let names: Set = [
        "cf-visitor", "cloudfront-forwarded-proto", "front-end-https", "wl-proxy-ssl", "x-arr-ssl", "x-scheme",
        "x-url-scheme",
    ]

    /// One of two words, so that no client makes variants at will.
    private static func word(for value: String) -> String {
        let value = value.lowercased()
        return value.contains("https") || ["on", "1", "true", "yes"].contains(value) ? "https" : "http"
    }

    /// The schemes of a chain, each in one of four words. RFC 7239 §4
    private static func schemes(in chain: String) -> String {
        chain.split(separator: ",").suffix(8).map { element in
            let parts = element.lowercased().split(separator: ";").map { part in
                part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
            }
            switch parts.first(where: { $0.hasPrefix("proto=") }) {
            case nil: return "-"
            case "proto=http": return "http"
            case "proto=https": return "https"
            default: return "other"
            }
        }
        .joined(separator: " ")
    }
}
