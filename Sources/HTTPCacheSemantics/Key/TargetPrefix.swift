/// A prefix of target URIs, for a purge by prefix.
///
/// It covers the targets of the same scheme, host and port whose path and query, as sent, begin
/// with its own, byte by byte. A target always has a path, so the authority is always whole: a
/// prefix without a path covers all of its origin and nothing of another one. Only bytes are
/// compared: `/img` covers `/img`, `/img/a` and `/images`. End the prefix in `/`, `?` or `=` to
/// cover whole parts only.
///
/// ```swift
/// let images = try TargetPrefix("https://a.example/img/")
/// images.covers(try TargetURI("https://a.example/img/a.png?w=1"))  // true
/// images.covers(try TargetURI("https://a.example/img"))            // false
///
/// let pages = try TargetPrefix("https://a.example/list?page=")
/// pages.covers(try TargetURI("https://a.example/list?page=12"))    // true
///
/// let origin = try TargetPrefix("https://a.example")
/// origin.covers(try TargetURI("https://a.example.evil/"))          // false
/// ```
public struct TargetPrefix: Sendable, Hashable {
    /// `http` or `https`.
    public let scheme: String
    /// Lower-case host: a name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port; the scheme's default if the text named none.
    public let port: UInt16
    /// The prefix of path and query; never empty: `/` if the text had no path.
    public let requestTarget: String

    /// Parses an absolute URI as ``TargetURI/init(_:)`` does: with the same percent-encoding, and
    /// without the fragment.
    ///
    /// An incomplete escape is not an escape: the `%` of `/a%2` is percent-encoded, as it is in a
    /// target.
    ///
    /// - Throws: ``TargetURIError``, as ``TargetURI/init(_:)`` does.
    public init(_ text: String) throws {
        self.init(try TargetURI(text))
    }

    /// Makes the prefix of all targets that begin with this one, itself included.
    public init(_ target: TargetURI) {
        scheme = target.scheme
        host = target.host
        port = target.port
        requestTarget = target.requestTarget
    }

    /// Whether a target begins with it.
    public func covers(_ target: TargetURI) -> Bool {
        guard target.port == port, target.scheme == scheme, target.host == host else { return false }
        let path = target.path.utf8
        let own = requestTarget.utf8[...]
        if own.count <= path.count { return path.starts(with: own) }
        guard own.starts(with: path) else { return false }
        // A path contains no `?`, so only the query can follow the path here.
        let rest = own.dropFirst(path.count)
        guard rest.first == UInt8(ascii: "?"), let query = target.query else { return false }
        return query.utf8.starts(with: rest.dropFirst())
    }

    /// Whether a key's target begins with it, in any partition and with any method.
    public func covers(_ key: CacheKey) -> Bool { covers(key.components.target) }

    /// Whether a target can exist that both cover.
    public func overlaps(_ other: TargetPrefix) -> Bool {
        guard other.port == port, other.scheme == scheme, other.host == host else { return false }
        return includes(other) || other.includes(self)
    }

    /// Whether it covers everything that another prefix covers.
    package func includes(_ other: TargetPrefix) -> Bool {
        other.port == port && other.scheme == scheme && other.host == host
            && other.requestTarget.utf8.starts(with: requestTarget.utf8)
    }

    /// The shortest target that it covers.
    private var target: TargetURI {
        let question = requestTarget.firstIndex(of: "?")
        return TargetURI(
            scheme: scheme,
            host: host,
            port: port,
            path: String(requestTarget[..<(question ?? requestTarget.endIndex)]),
            query: question.map { String(requestTarget[requestTarget.index(after: $0)...]) }
        )
    }

    /// The whole prefix, without a default port.
    public var uri: String { target.uri }

    /// The prefix for people: the values of secret parameters are replaced, as in
    /// ``TargetURI/redacted``.
    public var redacted: String { target.redacted }
}

extension TargetPrefix: CustomStringConvertible {
    /// ``redacted``.
    public var description: String { redacted }
}
