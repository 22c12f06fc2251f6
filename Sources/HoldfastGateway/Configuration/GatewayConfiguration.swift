import GatewayRouting
import HTTPCacheSemantics
import HTTPWire
public import HoldfastConfiguration

/// A gateway's settings. All except the listeners can change while it runs. All except the routes
/// have defaults.
public struct GatewayConfiguration: Sendable {
    /// The routes. Requests go only to the origins of these routes, whatever the request names.
    ///
    /// Give the transport the same routes: `OriginTransport.Configuration.routes`.
    public var routes: GatewayRoutes
    /// The routes that the gateway answers itself.
    var fixedRoutes = FixedRoutes()
    /// The schemes over which ``fixedRoutes`` answer every request.
    var answeredSchemes: Set<String> = []
    /// The mirrors of origins. Their paths are ignored here. Where responses are rewritten, a
    /// mirror's URLs count as its origin's URLs.
    ///
    /// Use the same mirrors as `OriginTransport.Configuration.origins`.
    public var mirrors: [GatewayOrigin: [GatewayOrigin]] = [:]
    /// The gateway's listeners, at most 16. ``host`` and ``port`` belong to the first listener with
    /// an address.
    public var listeners: [GatewayListener]
    /// This gateway's name in `Via`, a token. In requests, the instance is appended, so that a
    /// request that loops back is rejected. RFC 9110 §7.6.3
    public var pseudonym = "holdfast"
    /// The maximum number of concurrent client connections. Further connections are closed, after a
    /// response with 503 if they do not use TLS. Default: 10,000
    public var maximumConnections = 10_000
    /// The maximum number of connections per client IP address, except for trusted clients. If it
    /// is `nil`, only ``maximumConnections`` applies. Default: `nil`, because behind a proxy or a
    /// container network all clients may share one address
    public var maximumConnectionsPerClient: Int?
    /// The maximum number of concurrent tunnels of all routes with `GatewayRoute.upgrades`.
    /// Further tunnels get 503. Default: 1,000
    public var maximumTunnels = 1000
    /// Limits on requests. See `MessageLimits`.
    public var messageLimits = MessageLimits()
    /// The maximum number of bytes of content to read into memory for the key: of a QUERY, and of a
    /// POST if a rule requires it. Longer content passes through. Default: 1 MiB
    public var keyedContentLimit = 1 << 20
    /// The maximum number of bytes of request content to forward. Larger content gets 413. Default:
    /// 1 GiB
    public var contentLimit: Int64 = 1 << 30
    /// The minimum upload rate in bytes per second. A client that falls behind this rate by more
    /// than ``Timeouts/slowContent`` gets 408. `nil` means no minimum. Default: 1 KiB per second
    public var uploadRate: Int64? = 1 << 10
    /// The maximum number of bytes of unneeded content to read to keep the connection open: a GET's
    /// content, or content after an early response. Default: 1 MiB
    public var discardedContentLimit = 1 << 20
    /// Addresses of proxies in front of this gateway; `unix` for proxies that connect through a
    /// Unix socket. The gateway appends its own values to their `Forwarded` and `X-Forwarded-For`,
    /// and forwards their `X-Forwarded-Proto`. For all other clients it replaces these fields.
    public var trustedClients: [AddressRange] = []
    /// Addresses of clients that may purge with the method PURGE if they have a token. All other
    /// clients get 405. Default: none
    public var purgers: [AddressRange] = []
    /// The addresses of the clients that the gateway serves. All other clients get 403. Default:
    /// all clients
    public var clients = Configuration.ClientLists()
    /// How many requests each client may send. Further requests get 429. Default: `nil`, any number
    public var requestRate: Configuration.RequestRate?
    /// How the gateway handles request fields whose names contain `_` or another character besides
    /// letters, digits and hyphens. Default: dropped
    public var underscoredFields = UnderscoredFields.drop
    /// Whether TRACE is forwarded. It is forwarded without credentials and without fields that
    /// rules set, because its response shows all fields of the request. RFC 9110 §9.3.8
    ///
    /// If `false`, the default, TRACE gets 405. The same applies to TRACK, which some servers treat
    /// like TRACE, and to all other spellings of both.
    public var forwardsTrace = false
    /// Whether clients that are not trusted see in `Cache-Status` only whether the response was
    /// stored. RFC 9211 §4
    public var hidesCacheStatusDetails = false
    /// Whether each request has an `X-Request-Id` that its origin, its client and the access log
    /// receive. A trusted client's ID is kept if it has at most 128 characters of `[A-Za-z0-9._-]`;
    /// otherwise the ID is 128 random bits. The ID is not in the key. An origin's own ID is
    /// replaced in every response.
    ///
    /// If `false`, the default, the field passes like any other. If `true`, no two responses have
    /// the same bytes, so memory hits do not use the fastest path.
    public var identifiesRequests = false
    /// The path where any client sees the gateway's health in one word, on any host and with any
    /// query. It is compared byte by byte and begins with a slash. Requests for it never reach an
    /// origin. Default: `nil`, no such path
    public var healthPath: String?
    /// The path where any client sees whether the process works. Like ``healthPath``
    public var livePath: String?
    /// The path where any client sees whether the gateway should get requests. Like ``healthPath``
    public var readyPath: String?
    /// The proxy that all listeners are, for one command; `nil` for a gateway. Its routes are
    /// `GatewayRoutes.forwarding(upgrades:)`.
    package var commandProxy: CommandProxy?
    /// Whether origins are told https although no listener has TLS. A job's gateway does so if all
    /// clients of its configuration use TLS. Otherwise, an origin that requires https would
    /// redirect each request away from the job.
    package var statesHTTPS = false
    /// See ``Timeouts``.
    public var timeouts = Timeouts()

    /// How the gateway handles request fields whose names contain `_` or another character besides
    /// letters, digits and hyphens.
    ///
    /// CGI, WSGI, Rack and PHP read `X_Forwarded_Host` as `X-Forwarded-Host`, and some servers
    /// replace other characters with `_` (`X.Forwarded.Host`). So a client could use one form to
    /// set a field that it must not set in the other form.
    public enum UnderscoredFields: String, Sendable, Hashable, CaseIterable {
        /// Dropped, for every client.
        case drop
        /// Forwarded. A request with such a field bypasses the store: its response is not stored,
        /// and no stored response is served for it.
        case pass
    }

    /// The maximum times that a client may take.
    public struct Timeouts: Sendable, Hashable {
        /// The time to start a request: the first on a connection, or the next. Default: 60 s
        public var request = Duration.seconds(60)
        /// The time to send the first request on a connection that was accepted before the gateway
        /// began to shut down. Then the connection is closed. Default: 2 s
        public var lateRequest = Duration.seconds(2)
        /// The time to send a complete request head, counted from its first byte. Default: 30 s
        public var head = Duration.seconds(30)
        /// The time to send the next bytes of request content. Default: 60 s
        public var content = Duration.seconds(60)
        /// The time to catch up after sending content more slowly than
        /// ``GatewayConfiguration/uploadRate`` or not at all. Default: 20 s
        public var slowContent = Duration.seconds(20)
        /// The time to read the next bytes of a response. Default: 60 s
        public var write = Duration.seconds(60)
        /// The time in which at least one byte must pass through a tunnel, in either direction.
        /// Default: 60 s
        public var tunnel = Duration.seconds(60)
        /// The time to close the client's side after a response that ends the connection. Default:
        /// 2 s
        public var closing = Duration.seconds(2)
        /// The time for exchanges in progress to finish when the gateway shuts down. Then their
        /// connections are closed. Default: 10 s
        public var draining = Duration.seconds(10)

        /// Creates the default timeouts.
        public init() {}
    }

    /// Creates a configuration with defaults.
    ///
    /// - Parameters:
    ///   - host: the address to listen on.
    ///   - port: the port to listen on; 0 for any free port.
    public init(routes: GatewayRoutes, host: String = "127.0.0.1", port: Int = 8080) {
        self.routes = routes
        listeners = [.address(ListenAddress(host: host, port: port))]
    }

    /// Creates a configuration with defaults for one origin.
    public init(origin: GatewayOrigin, host: String = "127.0.0.1", port: Int = 8080) {
        self.init(routes: GatewayRoutes(origin: origin), host: host, port: port)
    }
}

/// The listeners.
extension GatewayConfiguration {
    /// The host to listen on: a name or an IP address; empty if no listener has an address.
    public var host: String {
        get { address?.host ?? "" }
        set { address = ListenAddress(host: newValue, port: port) }
    }

    /// The port to listen on; 0 for any free port.
    public var port: Int {
        get { address?.port ?? 0 }
        set { address = ListenAddress(host: host, port: newValue) }
    }

    /// The first listener with an address. A new value replaces it, or becomes the first listener.
    private var address: ListenAddress? {
        get {
            for case .address(let address, _, _, _) in listeners { return address }
            return nil
        }
        set {
            guard let newValue else { return }
            let index = listeners.firstIndex { if case .address = $0 { true } else { false } }
            if let index {
                let old = listeners[index]
                listeners[index] = .address(
                    newValue,
                    tls: old.tls,
                    http2: old.acceptsHTTP2,
                    proxyProtocol: old.expectsProxyHeader
                )
            } else {
                listeners.insert(.address(newValue), at: 0)
            }
        }
    }

    /// Checks that the number of listeners is valid.
    ///
    /// - Throws: `InvalidSetting`
    func checkListeners() throws(InvalidSetting) {
        guard !listeners.isEmpty else { throw InvalidSetting("The gateway has no listener. Name at least one.") }
        guard listeners.count <= GatewayListener.limit else {
            throw InvalidSetting("The gateway has \(listeners.count) listeners. The limit is \(GatewayListener.limit).")
        }
    }
}

extension GatewayConfiguration {
    private var clientSchemes: Set<String> { statesHTTPS ? ["https"] : clientSchemes(on: listeners) }

    /// See `Configuration.clientSchemes`.
    private func clientSchemes(on listeners: [GatewayListener]) -> Set<String> {
        Configuration.clientSchemes(
            listenersHaveTLS: listeners.map { $0.tls != nil },
            trusted: trustedClients,
            answered: answeredSchemes
        )
    }

    /// Returns whether all clients that reach the routes with an origin use TLS, with these
    /// listeners.
    package func clientsUseTLS(on listeners: [GatewayListener]) -> Bool {
        clientSchemes(on: listeners) == ["https"]
    }

    /// Whether clients can reach the routes over both schemes. If so, responses are stored for each
    /// scheme.
    var servesBothSchemes: Bool { clientSchemes.count > 1 }

    /// The scheme that all requests state to origins; `nil` if there is none. With a forward proxy
    /// there is none, because the proxy's origins learn no scheme.
    var schemeOfAllClients: String? {
        let schemes = clientSchemes
        return schemes.count == 1 && routes.proxy == nil ? schemes.first : nil
    }

    /// Whether a client may state the addresses of its own clients.
    func isTrusted(_ client: String?) -> Bool {
        guard !trustedClients.isEmpty, let client else { return false }
        return trustedClients.contains { $0.contains(client) }
    }
}
