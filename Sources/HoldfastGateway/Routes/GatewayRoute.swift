package import HTTPCacheSemantics
public import HoldfastConfiguration

/// Maps the requests for a host and a path to an origin.
///
/// Host and path decide if a request takes this route. In the target, the origin's path replaces
/// the route's path. With the path `/v1` and the origin `https://api.example.com/api`, a request
/// for `/v1/feed?page=2` becomes one for `https://api.example.com/api/feed?page=2`. The other bytes
/// do not change. If the origin's path is the route's, the whole target stays as received.
///
/// Paths are compared in normal form: `//v%31;x/feed` is below `/v1`, too. If a route or its origin
/// has a path, requests with dot segments are rejected.
///
/// References in fields of responses (`Location`, `Link` and others) are translated back: a URL
/// below some route's origin becomes the one that the client would request from this gateway. With
/// ``rewriting`` that is turned off, or content is rewritten as well. Stored responses are as the
/// origin sent them.
public struct GatewayRoute: Sendable, Hashable {
    /// The name in messages.
    public let name: String?
    /// The host that clients request, as it was given; `nil`: any.
    public let host: String?
    /// The start of the request's path, up to a slash or the end; `/` for any path.
    public let path: String
    /// The origin to which requests are sent.
    public let origin: GatewayOrigin
    /// Sends the client's `Host` to the origin, and makes it part of the key. For origins that
    /// serve several names.
    public let preservesHost: Bool

    /// How request fields are handled that no standard names, and that no origin is known to read
    /// as target, method, identity or credential. Default: they pass
    ///
    /// They are part of no key. If an origin builds a page from such a field and does not name it
    /// in `Vary`, every client gets that page.
    public var unknownFields = HoldfastConfiguration.Configuration.FieldHandling.pass

    /// The protocols that clients may speak with the origin in place of HTTP, in lower case:
    /// `websocket`. Their bytes pass both ways as they come. RFC 9110 §7.8, RFC 8441
    public var upgrades: [String] = []

    /// How responses are rewritten for their clients. Default: their fields are, and no content
    public var rewriting = HoldfastConfiguration.Configuration.Rewriting()

    let pattern: HostPattern
    let prefix: PathPrefix
    let originPrefix: PathPrefix
    /// Whether targets stay as received, because the origin's path is the route's.
    let keepsTargets: Bool

    /// Why a host or a path is invalid.
    public struct Refusal: Error, Sendable, CustomStringConvertible {
        /// A sentence that states what is wrong and what is expected.
        public let description: String
    }

    /// A route. Without a host and a path it takes all requests.
    ///
    /// - Parameters:
    ///   - host: the host, compared without regard to case. With a port it stands for that port
    ///     only; a request that names no port means 80. `*.example.com` stands for all hosts with
    ///     one more label. `nil`: any.
    ///   - path: the path. It begins with a slash, and is compared in normal form, up to a slash or
    ///     the end of the request's path. It has neither dot segments nor path parameters (`;`).
    /// - Throws: ``Refusal`` if the host or the path is invalid.
    public init(
        name: String? = nil,
        host: String? = nil,
        path: String = "/",
        origin: GatewayOrigin,
        preservesHost: Bool = false
    ) throws {
        guard let pattern = host.map({ HostPattern($0) }) ?? .any else {
            throw Refusal(
                description:
                    "'\(host ?? "")' is not a host. Write a name or an address, with a port to match only that port, or '*.' before a name."
            )
        }
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ $0.isVisible && !"?#".utf8.contains($0) }) else {
            throw Refusal(
                description: "'\(path)' is not a path. A path begins with a slash and has no query or spaces."
            )
        }
        guard !PathNormalForm.hasDotSegment(path), !path.contains(";") else {
            throw Refusal(
                description: "'\(path)' has a dot segment or path parameters (';'), which routes cannot match."
            )
        }
        self.init(origin, preservesHost: preservesHost, name: name, host: host, pattern: pattern, path: path)
    }

    /// A route whose host and path are valid; without them it takes all requests.
    init(
        _ origin: GatewayOrigin,
        preservesHost: Bool,
        name: String? = nil,
        host: String? = nil,
        pattern: HostPattern = .any,
        path: String = "/"
    ) {
        self.name = name
        self.host = host
        self.path = path
        self.origin = origin
        self.preservesHost = preservesHost
        self.pattern = pattern
        prefix = PathPrefix(path)
        originPrefix = PathPrefix(origin.pathPrefix)
        keepsTargets = prefix == originPrefix
    }

    /// Whether some requests do not take it.
    var isConditional: Bool { pattern != .any || !prefix.isEmpty }

    /// Whether it or its origin has a path. No request may leave that path.
    var hasPath: Bool { !prefix.isEmpty || !originPrefix.isEmpty }

    /// The path and query of a request at the origin; `nil` if its path does not match.
    ///
    /// - Parameter target: path and query as received.
    func path(for target: String) -> String? {
        guard let rest = prefix.rest(of: target) else { return nil }
        return keepsTargets ? target : originPrefix.path(before: rest)
    }

    /// The authority of a request at the origin, which is keyed and sent.
    func authority(for host: RequestedHost?) -> String {
        guard preservesHost, let host else { return origin.authority }
        return host.authority(for: origin.scheme)
    }

    /// Whether a request on this route may have the given target at the origin. Several routes may
    /// lead there.
    package func mayLead(to target: TargetURI) -> Bool {
        guard target.scheme == origin.scheme, originPrefix.rest(of: target.path) != nil else { return false }
        if preservesHost, pattern.includes(target) { return true }
        // This is also true if the host is preserved: HTTP/1.0 has requests without a host.
        return target.host == origin.host && target.port == origin.port
    }

    var endpoint: OriginEndpoint { origin.endpoint }
}
