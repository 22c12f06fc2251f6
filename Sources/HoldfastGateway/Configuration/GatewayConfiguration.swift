public import HoldfastConfiguration

/// The settings of a gateway. All but the listeners can change while it runs. Everything but the
/// routes has a default.
public struct GatewayConfiguration: Sendable {
    /// The routes. Requests go to no other origins than theirs, whatever the request names.
    ///
    /// Give the transport the same routes: ``OriginTransport/Configuration/routes``.
    public var routes: GatewayRoutes
    /// The mirrors of origins, whose paths do not matter here. Where a response is rewritten, the
    /// URLs of a mirror are those of its origin.
    ///
    /// They are those of ``OriginTransport/Configuration/origins``.
    public var mirrors: [GatewayOrigin: [GatewayOrigin]] = [:]
    /// The places where it listens, at most ``GatewayListener/limit``. ``host`` and ``port`` are
    /// those of the first address among them.
    public var listeners: [GatewayListener]
    /// The name of this gateway in `Via`; a token. In requests the instance is appended, so that a
    /// request that comes back is rejected. RFC 9110 §7.6.3
    public var pseudonym = "holdfast"
    /// The most client connections at one time. A further one gets 503 and is closed. 10,000
    public var maximumConnections = 10_000
    /// The most connections of one client IP address, trusted clients excepted. `nil`, the default:
    /// only ``maximumConnections`` applies, because behind a proxy or a container network all
    /// clients may share one address.
    public var maximumConnectionsPerClient: Int?
    /// The most tunnels at one time, of all routes with ``GatewayRoute/upgrades``. A further one
    /// gets 503. 1,000
    public var maximumTunnels = 1000
    /// The limits of requests. See ``MessageLimits``.
    public var messageLimits = MessageLimits()
    /// The most bytes of content that are read into memory to become part of the key: of a QUERY,
    /// and of a POST if a rule requires it. Longer content passes through. 1 MiB
    public var keyedContentLimit = 1 << 20
    /// The most bytes of a request's content that are forwarded. More get 413. 1 GiB
    public var contentLimit: Int64 = 1 << 30
    /// The bytes of content that a client must send each second, over any ``Timeouts/slowContent``.
    /// A slower client gets 408. `nil`: any rate. 1 KiB
    public var uploadRate: Int64? = 1 << 10
    /// The most bytes of unneeded content that are read so that the connection stays open: a GET's,
    /// or those after an early response. 1 MiB
    public var discardedContentLimit = 1 << 20
    /// Proxies in front of this gateway, by their addresses; `unix` for those that connect through
    /// a Unix socket. This gateway adds its own values to
    /// their `Forwarded`, `X-Forwarded-For` and `X-Forwarded-Proto`. It replaces these fields of
    /// all other clients.
    public var trustedClients: [AddressRange] = []
    /// Clients that may purge with the method PURGE if they have a token, by their addresses. All
    /// others get 405. Default: none
    public var purgers: [AddressRange] = []
    /// How request fields are handled whose names have a `_` or another character than letters,
    /// digits and hyphens. Default: dropped
    public var underscoredFields = UnderscoredFields.drop
    /// Whether TRACE is forwarded, without credentials and without the fields that rules set: its
    /// response shows all fields of the request. RFC 9110 §9.3.8
    ///
    /// `false`, the default: it gets 405. TRACK, which some servers treat alike, and all other
    /// spellings of both are handled in the same way.
    public var forwardsTrace = false
    /// Whether `Cache-Status` shows clients that are not trusted only if the response was stored.
    /// RFC 9211 §4
    public var hidesCacheStatusDetails = false
    /// Whether each request has an `X-Request-Id`, which its origin, its client and the access log
    /// get: that of a trusted client if it is at most 128 of `[A-Za-z0-9._-]`, or else 128 random
    /// bits. It is in no key. An origin's own is replaced in every response.
    ///
    /// `false`, the default: the field passes like any other. With it no two responses have the
    /// same bytes, so hits in memory are not served in their fastest way.
    public var identifiesRequests = false
    /// The path on which every client sees the gateway's health in one word, on any host and with
    /// any query; compared byte by byte. It begins with a slash. No origin gets a request for it.
    /// `nil`, the default: there is none
    public var healthPath: String?
    /// See ``Timeouts``.
    public var timeouts = Timeouts()

    /// How request fields are handled whose names have a `_` or another character than letters,
    /// digits and hyphens.
    ///
    /// CGI, WSGI, Rack and PHP read `X_Forwarded_Host` as `X-Forwarded-Host`, and some servers
    /// write `_` in place of the others (`X.Forwarded.Host`). So a client could set in one form a
    /// field that it must not set in the other.
    public enum UnderscoredFields: String, Sendable, Hashable, CaseIterable {
        /// They are dropped, for every client.
        case drop
        /// They pass. A request that has one bypasses the store: its response is not stored, and no
        /// stored response serves it.
        case pass
    }

    /// How long a client may take.
    public struct Timeouts: Sendable, Hashable {
        /// To begin a request: the first one, or the next one on a kept connection. 60 s
        public var request = Duration.seconds(60)
        /// For the first request of a connection that was accepted before the gateway stops. Later
        /// the connection is closed. 2 s
        public var lateRequest = Duration.seconds(2)
        /// To send a whole request head, from its first byte. 30 s
        public var head = Duration.seconds(30)
        /// To send the next bytes of a request's content. 60 s
        public var content = Duration.seconds(60)
        /// To catch up after sending content more slowly than ``GatewayConfiguration/uploadRate``
        /// or not at all. 20 s
        public var slowContent = Duration.seconds(20)
        /// To read the next bytes of a response. 60 s
        public var write = Duration.seconds(60)
        /// To send or to read a byte in a tunnel, for both sides together. 60 s
        public var tunnel = Duration.seconds(60)
        /// To close its side after a response that ended the connection. 2 s
        public var closing = Duration.seconds(2)
        /// For exchanges under way when the gateway stops. Then their connections are closed. 10 s
        public var draining = Duration.seconds(10)

        /// The defaults.
        public init() {}
    }

    /// A configuration with the defaults.
    ///
    /// - Parameters:
    ///   - host: the address to listen on.
    ///   - port: the port to listen on; 0 for any free one.
    public init(routes: GatewayRoutes, host: String = "127.0.0.1", port: Int = 8080) {
        self.routes = routes
        listeners = [.address(ListenAddress(host: host, port: port))]
    }

    /// A configuration with the defaults, for one origin.
    public init(origin: GatewayOrigin, host: String = "127.0.0.1", port: Int = 8080) {
        self.init(routes: GatewayRoutes(origin: origin), host: host, port: port)
    }
}

/// The listeners.
extension GatewayConfiguration {
    /// Why a gateway cannot listen with these settings.
    public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// A sentence that states what is expected.
        public let description: String
    }

    /// The address to listen on: a name or an IP address; empty if the gateway listens on none.
    public var host: String {
        get { address?.host ?? "" }
        set { address = ListenAddress(host: newValue, port: port) }
    }

    /// The port to listen on; 0 for any that is free.
    public var port: Int {
        get { address?.port ?? 0 }
        set { address = ListenAddress(host: host, port: newValue) }
    }

    /// The first address of the listeners. A new one replaces it, or becomes the first.
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

    /// - Throws: ``Refusal``
    func checkListeners() throws(Refusal) {
        guard !listeners.isEmpty else { throw Refusal(description: "The gateway has no listener. Name at least one.") }
        guard listeners.count <= GatewayListener.limit else {
            throw Refusal(
                description: "The gateway has \(listeners.count) listeners. The limit is \(GatewayListener.limit)."
            )
        }
    }
}

extension GatewayConfiguration {
    /// Whether clients of both schemes can reach the routes: there are listeners with and without
    /// TLS, or proxies that state the scheme of their clients.
    var servesBothSchemes: Bool {
        Configuration.servesBothSchemes(listenersHaveTLS: listeners.map { $0.tls != nil }, trusted: trustedClients)
    }

    /// Whether a client may state the addresses of its own clients.
    func isTrusted(_ client: String?) -> Bool {
        guard !trustedClients.isEmpty, let client else { return false }
        return trustedClients.contains { $0.contains(client) }
    }
}
