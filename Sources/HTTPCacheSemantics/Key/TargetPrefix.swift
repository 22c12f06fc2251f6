/// A prefix of target URIs, for a purge by prefix.
///
/// It covers the targets with the same scheme, host and port whose path and query, as sent, begin
/// with the prefix's path and query, byte by byte. A target always has a path, so the authority is
/// always complete: a prefix without a path covers its whole origin and no other origin. Only bytes
/// are compared: `/img` covers `/img`, `/img/a` and `/imgs`. End the prefix with `/`, `?` or `=`
/// to cover only whole parts.
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
    /// The host in lower case: a name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port; the scheme's default if the text contains no port.
    public let port: UInt16
    /// The prefix of path and query, never empty: `/` if the text has no path.
    public let requestTarget: String

    /// Parses an absolute URI like ``TargetURI/init(_:)``, with the same percent-encoding and
    /// without the fragment.
    ///
    /// An incomplete escape is not an escape: the `%` in `/a%2` is percent-encoded, as in a target.
    ///
    /// - Throws: ``TargetURIError``, as ``TargetURI/init(_:)`` does.
    public init(_ text: String) throws {
        self.init(try TargetURI(text))
    }

    /// Creates the prefix of all targets that begin with this target, including the target itself.
    public init(_ target: TargetURI) {
        scheme = target.scheme
        host = target.host
        port = target.port
        requestTarget = target.requestTarget
    }

    /// Returns whether a target begins with this prefix.
    public func covers(_ target: TargetURI) -> Bool {
        guard target.port == port, target.scheme == scheme, target.host == host else { return false }
        let path = target.path.utf8
        let own = requestTarget.utf8[...]
        if own.count <= path.count { return path.starts(with: own) }
        guard own.starts(with: path) else { return false }
        // A path contains no `?`, so only the query can follow it here.
        let rest = own.dropFirst(path.count)
        guard rest.first == UInt8(ascii: "?"), let query = target.query else { return false }
        return query.utf8.starts(with: rest.dropFirst())
    }

    /// Returns whether a key's target begins with this prefix, in any partition and for any method.
    public func covers(_ key: StoreKey) -> Bool { covers(key.components.target) }

    /// Returns whether both prefixes can cover the same target.
    package func overlaps(_ other: TargetPrefix) -> Bool {
        guard other.port == port, other.scheme == scheme, other.host == host else { return false }
        return includes(other) || other.includes(self)
    }

    /// Returns whether this prefix covers everything that another prefix covers.
    package func includes(_ other: TargetPrefix) -> Bool {
        other.port == port && other.scheme == scheme && other.host == host
            && other.requestTarget.utf8.starts(with: requestTarget.utf8)
    }

    /// The shortest target that the prefix covers.
    package var target: TargetURI {
        let question = requestTarget.firstIndex(of: "?")
        return TargetURI(
            scheme: scheme,
            host: host,
            port: port,
            path: String(requestTarget[..<(question ?? requestTarget.endIndex)]),
            query: question.map { String(requestTarget[requestTarget.index(after: $0)...]) }
        )
    }

    /// The whole prefix, without the default port.
    public var uri: String { target.uri }

    /// The prefix for people: the values of secret parameters are replaced, as in
    /// ``TargetURI/redacted``.
    public var redacted: String { target.redacted }
}

extension TargetPrefix: CustomStringConvertible {
    /// The redacted prefix; see ``redacted``.
    public var description: String { redacted }
}
