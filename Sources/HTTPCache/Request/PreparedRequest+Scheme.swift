import HTTPCacheSemantics
package import HTTPTypes

/// The scheme that the client used to reach the gateway, if it selects variants.
package enum ClientScheme {
    /// The origin does not learn the scheme, or a rule says that the scheme makes no difference.
    case irrelevant
    /// The request's `X-Forwarded-Proto` states the scheme.
    case stated
    /// Variants are selected by this value of the field instead of the request's value; `nil` means
    /// no field.
    case selecting(HTTPField?)

    /// - Parameters:
    ///   - presented: the request as received.
    ///   - request: the same request without the fields that rules remove or set.
    init(_ presented: CacheRequest, sentAs request: CacheRequest, _ settings: ExchangeSettings?) {
        if settings?.ignoredFields.contains(.clientScheme) == true {
            self = .irrelevant
            return
        }
        let fields = request.head.headerFields
        var isStated = false
        var others = ""
        var isTold = false
        // Iterate by index, because a loop over the fields would copy each field. Compare lengths
        // first.
        for index in fields.indices {
            let name = fields[index].name.canonicalName
            switch name.utf8.count {
            case 17 where name == HTTPField.Name.clientScheme.canonicalName: isStated = true
            case 9 where name == "forwarded":
                isTold = true
                // A trusted proxy adds its own element, which may state another scheme.
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

    /// The prefix of values from other proxies. A value with this prefix is only compared, never
    /// sent.
    package static let separator = ";"

    /// Additional fields in which trusted proxies state their clients' scheme. These fields from
    /// other clients are dropped earlier (``RequestFieldTable``).
    private static let names: Set = [
        "cf-visitor", "cloudfront-forwarded-proto", "front-end-https", "wl-proxy-ssl", "x-arr-ssl", "x-scheme",
        "x-url-scheme",
    ]

    /// Returns one of two words, so that clients cannot create variants at will.
    private static func word(for value: String) -> String {
        let value = value.lowercased()
        return value.contains("https") || ["on", "1", "true", "yes"].contains(value) ? "https" : "http"
    }

    /// Returns the schemes of a chain, each as one of four words. RFC 7239 §4
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
