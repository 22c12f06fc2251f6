/// The target URI of a request. The cache key contains it and the transport sends it, byte for
/// byte.
///
/// The scheme is `http` or `https`. Parsing lower-cases scheme and host, makes the port explicit
/// and drops the fragment, which is never sent. It percent-encodes bytes that RFC 3986 does not
/// allow at their position: spaces, `|`, non-ASCII characters as UTF-8, and a `%` that does not
/// begin a valid escape. Nothing else is normalized: `/a/../b`, `//`, `%2F` and `%2f` stay
/// unchanged.
///
/// ```swift
/// let target = try TargetURI("HTTPS://A.example/x|y?q=1#top")
/// target.uri            // "https://a.example/x%7Cy?q=1"
/// target.requestTarget  // "/x%7Cy?q=1"
/// ```
///
/// RFC 9110 §7.1, RFC 3986 §3
public struct TargetURI: Sendable, Hashable {
    /// `http` or `https`.
    public let scheme: String
    /// The host in lower case: a name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port; the scheme's default if the URI contains no port.
    public let port: UInt16
    /// The path, never empty: `/` if the URI has no path.
    public let path: String
    /// The text after `?`; `nil` if there is no `?`, empty if nothing follows it.
    ///
    /// These two cases are different targets.
    public let query: String?

    /// The maximum length of a target in bytes, including percent-encoding.
    public static let maximumLength = 65_535

    init(scheme: String, host: String, port: UInt16, path: String, query: String?) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
        self.query = query
    }

    /// `host` or `host:port`, without the scheme's default port. RFC 9110 §7.2
    public var authority: String { Self.authority(scheme: scheme, host: host, port: port) }

    /// Returns the ``authority`` of these parts.
    package static func authority(scheme: String, host: String, port: UInt16) -> String {
        port == defaultPort(of: scheme) ? host : "\(host):\(port)"
    }

    /// The path and query as the request line contains them (origin-form). RFC 9112 §3.2.1
    public var requestTarget: String {
        guard let query else { return path }
        return "\(path)?\(query)"
    }

    /// The whole URI, without the default port.
    public var uri: String { "\(scheme)://\(authority)\(requestTarget)" }

    /// The URI for people: the values of secret parameters are replaced with `REDACTED`.
    ///
    /// Names such as `token` and `signature` decide which parameters are secret.
    /// The path does not change.
    public var redacted: String {
        guard let query else { return uri }
        return "\(scheme)://\(authority)\(path)?\(Redaction.query(query))"
    }

    /// A canonical, length-prefixed encoding without partition or method. Invalidation and purge
    /// use it.
    ///
    /// Its first byte is ``StoreKey/version``. Two targets are equal exactly if these bytes are
    /// equal.
    package var canonicalBytes: [UInt8] {
        var writer = CanonicalWriter(capacity: 16 + host.utf8.count + path.utf8.count + (query?.utf8.count ?? 0))
        writer.write(byte: StoreKey.version)
        writer.write(target: self)
        return writer.bytes
    }

    static func defaultPort(of scheme: String) -> UInt16 { scheme == "https" ? 443 : 80 }
}

extension TargetURI: CustomStringConvertible {
    /// The redacted URI (see ``redacted``), so that a target in a message or a log never shows a
    /// secret.
    public var description: String { redacted }
}
