/// Methods that rules name. Others are valid, but in a rule they are probably misspelled.
enum KnownMethods {
    /// The methods whose responses can be stored.
    static let stored = ["GET", "HEAD", "QUERY", "POST"]

    static let common = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"]

    /// The methods that are registered, and `PURGE`. RFC 9110 §16.1
    private static let rare: Set<String> = [
        "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "CONNECT", "COPY", "LABEL", "LINK", "LOCK", "MERGE",
        "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "ORDERPATCH", "PROPFIND",
        "PROPPATCH", "PURGE", "REBIND", "REPORT", "SEARCH", "TRACE", "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK",
        "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
    ]

    /// Returns a warning about a method that is probably misspelled; `nil` for known methods.
    static func warning(about method: String) -> String? {
        guard !common.contains(method), !rare.contains(method) else { return nil }
        let advice = nearest(to: method, of: common).map { " Did you mean '\($0)'?" } ?? ""
        return "\(shown(method)) is an unknown method, so probably no request matches.\(advice)"
    }
}
