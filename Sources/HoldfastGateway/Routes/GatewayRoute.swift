package import HTTPCacheSemantics

/// Where clients ask, and where that is at the origin.
///
/// Host and path tell whether a request goes this way. The path is taken from what the client asked
/// for, and the origin's put in its place: with the path `/v1` and the origin
/// `https://api.example.com/api`, a request for `/v1/feed?page=2` is one for
/// `https://api.example.com/api/feed?page=2`. The bytes of the rest are not touched. Where the
/// origin's path is the route's, the whole target stays as it came.
///
/// Paths are compared in normal form: `//v%31;x/feed` is below `/v1`, too. Where a route or its
/// origin has a path, requests with dot segments are refused.
///
/// Answers pass as they came: a `Location`, a `Content-Location` or a link speaks of the origin's
/// paths (and, where ``preservesHost`` is `false`, of its host), and is not translated back. An
/// origin that writes such references as clients know them (by `Host` and a path of the same name)
/// needs no translation.
public struct GatewayRoute: Sendable, Hashable {
    /// What messages call it.
    public let name: String?
    /// The host that clients ask for, as it was given; `nil`: any.
    public let host: String?
    /// What requests' paths begin with, up to a slash or their end; `/` where it is any.
    public let path: String
    /// Where the requests go.
    public let origin: GatewayOrigin
    /// Sends the client's `Host` to the origin, and keys by it; for origins that serve several
    /// names.
    public let preservesHost: Bool

    /// What becomes of request fields of which nothing is known. They pass.
    public var unknownFields = UnknownFields.pass

    /// What becomes of request fields that no origin is known to read as target, method, identity
    /// or credential, and that no standard names.
    ///
    /// They are in no key: an origin that builds a page from one, and names it in no `Vary`, has
    /// built it for everybody.
    public enum UnknownFields: String, Sendable, Hashable, CaseIterable {
        /// They pass, and the response is stored.
        case pass
        /// They are dropped.
        case drop
        /// They pass. A request that has one goes past the store: nothing of it is stored, and
        /// nothing stored answers it.
        case bypass
    }

    let pattern: HostPattern
    let prefix: PathPrefix
    let originPrefix: PathPrefix
    /// Whether targets stay as they came, because the origin has the route's path.
    private let keepsTargets: Bool

    /// Why host or path are none.
    public struct Refusal: Error, Sendable, CustomStringConvertible {
        /// What is wrong, and what is expected.
        public let description: String
    }

    /// A route; without conditions one for all requests.
    ///
    /// - Parameters:
    ///   - host: compared without regard to case; with a port where only requests to that one are
    ///     meant (one that names none means 80); `*.example.com` for all hosts of one more label.
    ///     `nil`: any.
    ///   - path: begins with a slash; compared in normal form, up to a slash or the end of the
    ///     request's path. It has neither dot segments nor path parameters (`;`).
    /// - Throws: ``Refusal``
    public init(
        name: String? = nil,
        host: String? = nil,
        path: String = "/",
        origin: GatewayOrigin,
        preservesHost: Bool = false
    ) throws {
        if let host {
            guard let pattern = HostPattern(host) else {
                throw Refusal(
                    description:
                        "'\(host)' is no host. Write a name or an address, with a port if only that is meant, or '*.' before a name."
                )
            }
            self.pattern = pattern
        } else {
            pattern = .any
        }
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ $0.isVisible && !"?#".utf8.contains($0) }) else {
            throw Refusal(
                description: "'\(path)' is no path. It begins with a slash, and has neither query nor spaces."
            )
        }
        guard !PathNormalForm.hasDotSegment(path), !path.contains(";") else {
            throw Refusal(
                description: "'\(path)' has a dot segment or path parameters (';'), which no route compares."
            )
        }
        self.name = name
        self.host = host
        self.path = path
        self.origin = origin
        self.preservesHost = preservesHost
        prefix = PathPrefix(path)
        originPrefix = PathPrefix(origin.pathPrefix)
        keepsTargets = prefix == originPrefix
    }

    /// All requests, to one origin.
    init(toAll origin: GatewayOrigin, preservesHost: Bool) {
        name = nil
        host = nil
        path = "/"
        self.origin = origin
        self.preservesHost = preservesHost
        pattern = .any
        prefix = PathPrefix("/")
        originPrefix = PathPrefix(origin.pathPrefix)
        keepsTargets = prefix == originPrefix
    }

    /// Whether there are requests that it is not for.
    var isConditional: Bool { pattern != .any || !prefix.isEmpty }

    /// Whether it or its origin has a path, which no request may leave.
    var hasPath: Bool { !prefix.isEmpty || !originPrefix.isEmpty }

    /// Path and query at the origin of a request; `nil` where its path is not this route's.
    ///
    /// - Parameter target: path and query as they came.
    func path(for target: String) -> String? {
        guard let rest = prefix.rest(of: target) else { return nil }
        return keepsTargets ? target : originPrefix.path(before: rest)
    }

    /// Whether a request for a target at the origin may have come this way; several routes may be
    /// meant.
    package func mayHaveAsked(for target: TargetURI) -> Bool {
        guard target.scheme == origin.scheme, originPrefix.rest(of: target.path) != nil else { return false }
        if preservesHost, pattern.includes(target) { return true }
        // Also where the host is preserved: HTTP/1.0 knows requests without one.
        return target.host == origin.host && target.port == origin.port
    }

    var endpoint: OriginEndpoint {
        OriginEndpoint(isSecure: origin.scheme == "https", host: origin.host, port: origin.port)
    }
}
