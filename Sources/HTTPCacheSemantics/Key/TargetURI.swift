/// The target URI of a request: what the cache key names and the transport sends, byte for byte.
///
/// `http` and `https` only. Parsing lower-cases scheme and host, makes the port explicit, drops the
/// fragment (it is never sent), and percent-encodes bytes that RFC 3986 does not allow where they
/// stand (a space, `|`, non-ASCII as UTF-8, and a `%` that begins no valid escape). Nothing else is
/// normalised: `/a/../b`, `//`, `%2F` and `%2f` stay as they came.
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
    /// Lower-case host: a name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port, the scheme's default where the URI named none.
    public let port: UInt16
    /// The path, never empty: `/` where the URI had none.
    public let path: String
    /// What follows `?`; `nil` when there is no `?`, empty when nothing follows it.
    ///
    /// The two are different targets.
    public let query: String?

    /// The longest target, in bytes, percent-encoding included.
    public static let maximumLength = 65_535

    init(scheme: String, host: String, port: UInt16, path: String, query: String?) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
        self.query = query
    }

    /// `host` or `host:port`, the port left out where it is the scheme's default. RFC 9110 §7.2
    public var authority: String { Self.authority(scheme: scheme, host: host, port: port) }

    /// ``authority`` of these parts.
    package static func authority(scheme: String, host: String, port: UInt16) -> String {
        port == defaultPort(of: scheme) ? host : "\(host):\(port)"
    }

    /// Path and query as they stand in the request line (origin-form). RFC 9112 §3.2.1
    public var requestTarget: String {
        guard let query else { return path }
        return "\(path)?\(query)"
    }

    /// The whole URI, default port left out.
    public var uri: String { "\(scheme)://\(authority)\(requestTarget)" }

    /// The URI for people: values of parameters whose names tell of a secret are replaced by
    /// `REDACTED`.
    ///
    /// Which names: ``Redaction/secretParameterNames`` and the rules beside it. The path stays as
    /// it is.
    public var redacted: String {
        guard let query else { return uri }
        return "\(scheme)://\(authority)\(path)?\(Redaction.query(query))"
    }

    /// A canonical, length-prefixed encoding without partition or method: what invalidation and
    /// purge go by.
    ///
    /// Its first byte is ``CacheKey/version``. Two targets are equal exactly when these bytes are.
    public var canonicalBytes: [UInt8] {
        var writer = CanonicalWriter(capacity: 16 + host.utf8.count + path.utf8.count + (query?.utf8.count ?? 0))
        writer.write(byte: CacheKey.version)
        writer.write(target: self)
        return writer.bytes
    }

    static func defaultPort(of scheme: String) -> UInt16 { scheme == "https" ? 443 : 80 }
}

extension TargetURI: CustomStringConvertible {
    /// ``redacted``, so that a target written into a message or a log never shows a secret.
    public var description: String { redacted }
}
