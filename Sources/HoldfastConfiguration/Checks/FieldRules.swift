import HTTPCacheSemantics
import HTTPTypes

/// Which fields a rule may set and remove.
enum FieldRules {
    /// What frames a message, names its connection or its target. RFC 9110 §7.6.1
    static let untouchable: Set<String> = [
        "connection", "content-length", "host", "http2-settings", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]
    /// What the cache says itself, or asks for itself: RFC 9110 §13, §14, RFC 9111 §5, RFC 9211.
    static let unsettable: Set<String> = untouchable.union([
        "age", "cache-status", "content-encoding", "content-range", "date", "expect", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "proxy-authenticate", "range", "via",
    ])

    static func maySet(_ name: HTTPField.Name) -> Bool { !unsettable.contains(name.canonicalName) }
    static func mayRemove(_ name: HTTPField.Name) -> Bool { !untouchable.contains(name.canonicalName) }

    /// Whether a field's name tells that its value is a secret: those whose values are hidden in
    /// logs.
    static func tellsOfSecret(_ name: HTTPField.Name) -> Bool {
        redactedFields([name: "x"])[name] == Redaction.placeholder
    }
}
