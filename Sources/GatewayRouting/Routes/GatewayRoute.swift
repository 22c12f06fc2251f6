package import HTTPCacheSemantics
package import HTTPWire
public import HoldfastConfiguration

/// Maps the requests for a host and a path to an origin.
///
/// The host and the path decide whether a request takes this route. In the target, the origin's
/// path replaces the route's path. With the path `/v1` and the origin
/// `https://api.example.com/api`, a request for `/v1/feed?page=2` becomes a request for
/// `https://api.example.com/api/feed?page=2`. The other bytes do not change. If the two paths are
/// equal, the entire target stays as received.
///
/// Paths are compared in normal form: `//v%31;x/feed` is also below `/v1`. If a route or its origin
/// has a path, requests with dot segments are rejected.
///
/// References in response fields (`Location`, `Link` and others) are translated back: a URL below
/// some route's origin becomes the URL that the client would request from this gateway.
/// ``rewriting`` can turn this off, or also rewrite content. Stored responses stay as the origin
/// sent them.
public struct GatewayRoute: Sendable, Hashable {
    /// The route's name in messages.
    public let name: String?
    /// The host that clients request, as given; `nil` matches any host.
    public let host: String?
    /// The start of the request's path, up to a slash or the end; `/` for any path.
    public let path: String
    /// The origin that requests are sent to.
    public let origin: GatewayOrigin
    /// Whether the client's `Host` is sent to the origin and becomes part of the key. For origins
    /// that serve several names. Its port is sent only if ``host`` or a listener has it.
    public let preservesHost: Bool

    /// The ports of the gateway's listeners that clients write in `Host`. Without the ports that
    /// URLs omit.
    package var listenerPorts: Set<UInt16> = []

    /// The forward proxy whose requests take the route: they name their origin, and ``origin`` has
    /// only their scheme. `nil` for a route to one origin.
    package var proxy: ForwardProxy?

    /// Whether requests name their origin, as with a forward proxy.
    package var forwards: Bool { proxy != nil }

    /// The route's number among all routes of its file, from 1, by which metrics and the access log
    /// name a route without a name; `nil` if it is not from a file.
    package var number: Int?

    /// How the gateway handles request fields that no standard defines, and that no known origin
    /// reads as a target, method, identity or credential. By default, they pass unchanged.
    ///
    /// They are not in the key. If an origin builds a page from such a field and does not name it
    /// in `Vary`, every client gets that page.
    public var unknownFields = HoldfastConfiguration.Configuration.FieldHandling.pass

    /// The protocols that clients may use with the origin instead of HTTP, in lowercase:
    /// `websocket`. Bytes pass in both directions unchanged. RFC 9110 §7.8, RFC 8441
    public var upgrades: [String] = []

    /// How responses are rewritten for their clients. By default, only fields are rewritten.
    public var rewriting = HoldfastConfiguration.Configuration.Rewriting()

    /// Whether responses without a content coding are compressed with gzip for clients that prefer
    /// it. Stored responses stay as the origin sent them.
    public var compresses = false

    /// The HTML pages that browsers get for the route's problems.
    package var errorPages = HoldfastConfiguration.Configuration.ErrorPages()

    /// The clients that may use the route, of those that the gateway serves at all. Default: all
    public var clients = HoldfastConfiguration.Configuration.ClientLists()

    /// How many requests on the route each client may send, in addition to the gateway's own rate.
    /// By default, any number.
    public var requestRate: HoldfastConfiguration.Configuration.RequestRate?

    /// Whether requests on the route are checked by the client's address.
    package var checksClients: Bool { !clients.isEmpty || requestRate != nil }

    package let pattern: HostPattern
    let prefix: PathPrefix
    let originPrefix: PathPrefix
    /// Whether targets stay as received, because the origin's path equals the route's.
    let keepsTargets: Bool

    /// Creates a route. Without a host and a path, it matches all requests.
    ///
    /// - Parameters:
    ///   - host: the host, compared case-insensitively; `nil` matches any host. With a port, it
    ///     matches only that port; a request that names no port means 80. `*.example.com` matches
    ///     all hosts with one more label.
    ///   - path: the path. It begins with a slash, and is compared in normal form, up to a slash or
    ///     the end of the request's path. It contains neither dot segments nor path parameters
    ///     (`;`).
    /// - Throws: `InvalidSetting` if the host or the path is invalid.
    public init(
        name: String? = nil,
        host: String? = nil,
        path: String = "/",
        origin: GatewayOrigin,
        preservesHost: Bool = false
    ) throws {
        guard let pattern = host.map({ HostPattern($0) }) ?? .any else {
            throw InvalidSetting(
                "'\(host ?? "")' is not a host. Write a name or an address, with a port to match only that port, or '*.' before a name."
            )
        }
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ $0.isVisible && !"?#".utf8.contains($0) }) else {
            throw InvalidSetting("'\(path)' is not a path. A path begins with a slash and has no query or spaces.")
        }
        guard !PathNormalForm.hasDotSegment(path), !path.contains(";") else {
            throw InvalidSetting("'\(path)' has a dot segment or path parameters (';'), which routes cannot match.")
        }
        self.init(origin, preservesHost: preservesHost, name: name, host: host, pattern: pattern, path: path)
    }

    /// Creates a route with a valid host and path. Without them, it matches all requests.
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

    /// Whether the route matches only some requests.
    var isConditional: Bool { pattern != .any || !prefix.isEmpty }

    /// Whether the route or its origin has a path. No request may escape that path.
    var hasPath: Bool { !prefix.isEmpty || !originPrefix.isEmpty }

    /// Returns the path and query of a request at the origin; `nil` if its path does not match.
    ///
    /// - Parameter target: path and query as received.
    func path(for target: String) -> String? {
        guard let rest = prefix.rest(of: target) else { return nil }
        return keepsTargets ? target : originPrefix.path(before: rest)
    }

    /// Returns the path and query that clients request for a target at the origin; `nil` if the
    /// route does not lead there. The reverse of ``path(for:)``.
    func clientPath(of target: TargetURI) -> String? {
        guard let rest = originPrefix.rest(of: target.requestTarget) else { return nil }
        return keepsTargets ? target.requestTarget : prefix.path(before: rest)
    }

    /// Returns the authority of a request to the origin. The authority is part of the key, and is
    /// sent to the origin.
    package func authority(for host: RequestedHost?) -> String {
        guard preservesHost, let host else { return origin.authority }
        return preserved(host).authority(for: origin.scheme)
    }

    /// Returns a client's host as the origin gets it. A client may write any port in `Host`, so a
    /// port counts only if the configuration has it.
    func preserved(_ host: RequestedHost) -> RequestedHost {
        if forwards { return host }
        // A client that names no port means 80.
        if let port = pattern.port { return host.with(port: port == 80 ? nil : port) }
        guard let port = host.port, !listenerPorts.contains(port) else { return host }
        return host.with(port: nil)
    }

    /// Returns every authority under which responses to requests for a host may be stored.
    package func authorities(for host: RequestedHost?) -> [String] {
        guard preservesHost, let host else { return [origin.authority] }
        if forwards { return [authority(for: host)] }
        let ports: [UInt16?] = pattern.port == nil ? [nil] + listenerPorts.sorted() : [nil]
        return ports.map { authority(for: host.with(port: $0)) }
    }

    /// Whether a request on this route may have the given target at the origin. Several routes may
    /// lead to the same target.
    package func mayLead(to target: TargetURI) -> Bool {
        guard target.scheme == origin.scheme, originPrefix.rest(of: target.path) != nil else { return false }
        if let proxy { return proxy.leads(to: target) }
        if preservesHost, pattern.includes(target) { return true }
        // Also true if the host is preserved, because HTTP/1.0 has requests without a host.
        return target.host == origin.host && target.port == origin.port
    }

    /// Whether a request on this route may have a target that begins with the given one.
    func leads(toTargetsFrom target: TargetURI) -> Bool {
        if finds(target) { return true }
        // The route may lead to a part of them.
        guard originPrefix.text.hasPrefix(target.path) else { return false }
        let part = try? TargetURI("\(target.scheme)://\(target.authority)\(originPrefix.text)")
        return part.map { finds($0) } ?? false
    }

    /// Whether a client that names a host may get the response that is stored for a target, if its
    /// request takes this route: see ``ClientRoutes``.
    func finds(_ target: TargetURI) -> Bool {
        guard mayLead(to: target), preservesHost, !forwards else { return mayLead(to: target) }
        guard pattern.includes(target), let host = RequestedHost(target.authority) else { return false }
        return authorities(for: host).contains(target.authority)
    }

    package var endpoint: OriginEndpoint { origin.endpoint }
}
