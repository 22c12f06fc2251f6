import HTTPCacheSemantics
package import HTTPTypes

/// The fields that a rule may set and remove.
package enum SettableFields {
    /// Fields that frame a message, control its connection or name its target. RFC 9110 §7.6.1
    static let untouchable: Set<String> = [
        "connection", "content-length", "host", "http2-settings", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]
    /// Fields that the cache itself writes or sends in requests. RFC 9110 §13, §14, RFC 9111 §5,
    /// RFC 9211
    static let unsettable: Set<String> = untouchable.union([
        "age", "cache-status", "content-encoding", "content-range", "date", "expect", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "proxy-authenticate", "range", "via",
    ])

    /// Fields that say how a response may be stored, shared or read. Settings such as `freshness`
    /// and `ignore.directives` override them.
    private static let judged: Set<String> = [
        "age", "cache-control", "content-encoding", "content-range", "content-type", "date", "expires", "pragma",
        "vary",
    ]

    /// Returns whether a field may be removed from a response before the response is judged.
    static func mayRemoveFromOrigin(_ name: HTTPField.Name) -> Bool {
        let name = name.canonicalName
        return !untouchable.contains(name) && !judged.contains(name) && !name.hasSuffix("-cache-control")
    }

    static func maySet(_ name: HTTPField.Name) -> Bool { !unsettable.contains(name.canonicalName) }
    static func mayRemove(_ name: HTTPField.Name) -> Bool { !untouchable.contains(name.canonicalName) }

    /// Returns whether a field's name marks it as secret. Logs hide the values of these fields.
    package static func isSecretByName(_ name: HTTPField.Name) -> Bool {
        redactedFields([name: "x"])[name] == Redaction.placeholder
    }
}
