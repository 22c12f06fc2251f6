public import CacheRules
public import HTTPCache

/// The content of one configuration file, for the library, the gateway and the tools. Every part is
/// optional. For `nil`, the library, the gateway and the tools each use their own default.
public struct Configuration: Sendable {
    /// Maps a host and a path that clients request to an origin.
    public struct Route: Sendable, Hashable {
        /// The route's name in messages; `nil` if it is identified by its number.
        public var name: String?
        /// The host that clients request, with its port if they specify one. `*.example.com`
        /// matches all hosts with one more label. `nil` matches any host.
        public var host: String?
        /// The prefix of the request's path. A slash or the end of the path must follow it. The
        /// prefix is removed before the request is sent. `/` matches any path.
        public var path: String
        /// An absolute URL. Its path is prepended to the rest of the request's path.
        public var origin: String
        /// Whether the client's `Host` is sent to the origin and is part of the key.
        public var preservesHost: Bool
        /// The extent to which requests on this route may use the network. The mode of a rule takes
        /// precedence.
        public var mode: OfflineMode?
        /// `unknown-fields`: how to handle request fields that the gateway does not know.
        public var unknownFields: FieldHandling?
        /// `tags-from`: the fields in which the origin tags its responses. They are not sent to
        /// clients. The `tags-from` of a rule takes precedence.
        public var tagsFrom: [TagField] = []
        /// `upgrades`: the protocols that clients may use with the origin instead of HTTP, in lower
        /// case.
        public var upgrades: [String] = []
        /// `rewrite`: how responses are rewritten for the clients of a gateway.
        public var rewriting = Rewriting()
        /// `compress`: whether a gateway compresses responses with gzip for clients that prefer it.
        public var compresses = false
        /// `error-pages`: the HTML pages that browsers get for the route's problems.
        package var errorPages = ErrorPages()
        /// `clients`: the clients that a gateway serves on this route, of those that it serves at
        /// all.
        public var clients = ClientLists()
        /// `limits.requests`: how many requests on this route a gateway serves to each client, in
        /// addition to the top level's rate. `nil` sets no rate for the route.
        public var requestRate: RequestRate?
        /// The line on which the route begins; `nil` if the route is not from a file.
        package var line: Int?
        /// The maximum number of protocols in ``upgrades``.
        package static let upgradeLimit = 8
        /// The file that contains the route.
        package var file: String?
        /// The settings with references to variables, as written in the file.
        var written: [String: String] = [:]
        /// The route's number in the file, from 1. Routes that could not be read are also counted.
        package var number: Int?

        /// Creates a route.
        public init(
            name: String? = nil,
            host: String? = nil,
            path: String = "/",
            origin: String,
            preservesHost: Bool = false,
            mode: OfflineMode? = nil,
            line: Int? = nil
        ) {
            self.name = name
            self.host = host
            self.path = path
            self.origin = origin
            self.preservesHost = preservesHost
            self.mode = mode
            self.line = line
        }
    }

    /// `store`
    public struct Store: Sendable, Hashable {
        /// `path`: the store's folder, relative to the folder of the configuration file.
        public var path: String?
        /// `budget`: the maximum number of bytes on disk.
        public var budget: Int64?
        /// `memory`: the maximum number of bytes in memory.
        public var memory: Int?
        /// `largest-resident-body`: the maximum size, in bytes, of a body that is kept in memory.
        public var maximumResidentBody: Int?
        /// `secure-delete`: whether deleted data is overwritten.
        public var securelyDeletes: Bool?
        /// `quotas.tags`: the maximum number of bytes on disk for each tag.
        public var tagQuotas: [String: Int64] = [:]
        /// `quotas.origins`: the maximum number of bytes on disk for each listed origin.
        public var originQuotas: [String: Int64] = [:]
        /// `quotas.each-origin`: the maximum number of bytes on disk for each other origin.
        public var eachOriginQuota: Int64?
        /// `variants-per-key`: the maximum number of responses to one URL that differ by `Vary`.
        public var variantsPerKey: Int?
        /// `keep-offline-copies`: whether responses that can be served offline are evicted last,
        /// regardless of their last use.
        public var keepsOfflineCopies: Bool?
        /// The default of ``memory``: 64 MiB
        static let standardMemory = 64 << 20
        /// Creates settings with no values.
        public init() {}
    }

    /// `limits`
    package struct Limits: Sendable, Hashable {
        /// `connections`: the maximum number of concurrent client connections.
        package var connections: Int?
        /// The default of ``connections``.
        static let standardConnections = 10_000
        /// `connections-per-client`: the maximum number of concurrent connections from one IP
        /// address. `nil` applies only the `connections` limit.
        package var connectionsPerClient: Int?
        /// `request-body`: the maximum size of a request's content, in bytes.
        package var requestBody: Int64?
        /// `upload-rate`: the minimum rate, in bytes per second, at which a client must send a
        /// request's content. 0 allows any rate.
        package var uploadRate: Int64?
        /// `in-flight-per-origin`: the maximum number of requests in flight to one origin.
        package var inFlightPerOrigin: Int?
        /// `waiting-per-origin`: the maximum number of requests that wait for one origin.
        package var waitingPerOrigin: Int?
        /// `keyed-content`: the maximum size, in bytes, of content that can be part of a key.
        package var keyedContent: Int?
        /// `request-head`: the maximum size of a request's head, in bytes.
        package var requestHead: Int?
        /// `tunnels`: the maximum number of concurrent tunnels for other protocols.
        package var tunnels: Int?
        /// `response-memory`: the maximum number of bytes of stored content in memory for responses
        /// in progress.
        package var responseMemory: Int?
        /// `requests`: how many requests are served to each client. `nil` sets no rate.
        package var requests: RequestRate?
        /// Creates settings with no values.
        package init() {}
    }

    /// `clients`
    package struct Clients: Sendable, Hashable {
        /// `trusted`: the addresses of proxies in front of the gateway.
        package var trusted: [AddressRange] = []
        /// `purgers`: the addresses of clients that may purge with the method PURGE if they have a
        /// token.
        package var purgers: [AddressRange] = []
        /// `underscored-fields`: how to handle request fields whose names contain `_` or any other
        /// character except letters, digits and hyphens: ``FieldHandling/drop`` or
        /// ``FieldHandling/pass``.
        package var underscoredFields: FieldHandling?
        /// `trace`: whether TRACE is forwarded. `nil` rejects it.
        package var forwardsTrace: Bool?
        /// `cache-status`: the clients that get the full `Cache-Status` field. Other clients see
        /// only whether the response was a hit.
        package var cacheStatus: Audience?
        /// `request-id`: whether each request gets an `X-Request-Id`, which is passed to the
        /// origin, the client and the access log. `nil` disables it.
        package var identifiesRequests: Bool?
        /// `allow` and `deny`: the clients that are served.
        package var lists = ClientLists()
        /// Creates settings with no values.
        package init() {}
    }

    /// `health`: the health checks that clients of the gateway can request.
    package struct Health: Sendable, Hashable {
        /// `path`: the path of the check that includes all others. `nil` disables it.
        package var path: String?
        /// `live`: the path that shows whether the process works. `nil` disables it.
        package var live: String?
        /// `ready`: the path that shows whether the gateway should get requests. `nil` disables it.
        package var ready: String?
        /// Creates settings without paths.
        package init() {}
    }

    /// `metrics`: the address at which Prometheus scrapes the gateway.
    package struct Metrics: Sendable, Hashable {
        /// `listen`: the host and port that serve only `/metrics`. `nil` disables it.
        package var listen: String?
        /// `public`: whether other machines may be able to connect.
        package var isPublic = false
        /// `token`: the path of a file with the token that clients need, relative to the
        /// configuration file. `nil` requires none.
        package var token: String?
        /// `tls`: the certificates. `nil` serves without TLS.
        package var tls: TLS?
        /// Creates settings without an address.
        package init() {}

        /// Whether clients on other machines can connect.
        package var isReachableFromOthers: Bool { Configuration.isReachableFromOthers(listen) }
    }

    /// The ways to handle request fields.
    public enum FieldHandling: String, Sendable, Hashable, CaseIterable {
        /// Drops the fields.
        case drop
        /// Forwards the fields.
        case pass
        /// Forwards the fields and bypasses the store: the response is not stored, and no stored
        /// response is used.
        case bypass
    }

    /// The clients that receive a piece of information.
    package enum Audience: String, Sendable, Hashable, CaseIterable {
        /// Every client.
        case everyone
        /// The clients of `clients.trusted`.
        case trusted
    }

    /// `control`: the control plane, which operators use to manage a running gateway.
    package struct Control: Sendable, Hashable {
        /// `socket`: the path of the control plane's Unix socket. With `nil`, the socket is in the
        /// `RUNTIME_DIRECTORY` folder or, if that is not set, in the store's folder.
        package var socket: String?
        /// Whether `socket: off` disables the control plane.
        package var isOff = false
        /// `listen`: the host and port on which the control plane listens in addition to the
        /// socket. `nil` disables TCP.
        package var listen: String?
        /// `tokens`: the secrets for access over TCP. If the list is empty, a token is created in
        /// the store's folder.
        package var tokens: [Token] = []
        /// `hosts`: the host names that clients may use over TCP, in addition to the host in
        /// `listen` and `localhost`.
        package var hosts: [String] = []
        /// `insecure`: whether tokens may cross a network without TLS.
        package var isInsecure = false
        /// Creates settings with the defaults.
        package init() {}

        /// Whether clients on other machines can connect.
        package var isReachableFromOthers: Bool { Configuration.isReachableFromOthers(listen) }
    }

    /// Returns whether clients on other machines can connect to an address (a host and port).
    package static func isReachableFromOthers(_ listen: String?) -> Bool {
        guard let listen, let colon = listen.lastIndex(of: ":") else { return false }
        let written = listen[..<colon].lowercased()
        let host = written.hasPrefix("[") ? String(written.dropFirst().dropLast()) : written
        return host != "localhost" && host != "::1" && AddressRange("127.0.0.0/8")?.contains(host) != true
    }

    /// A secret for access to the control plane over TCP.
    package struct Token: Sendable, Hashable {
        /// `name`: the token's name in the log and the history.
        package var name: String
        /// `file`: the path of the file with the secret, relative to the configuration file.
        package var file: String
        /// `scope`: the operations that the token allows.
        package var scope: Scope

        /// Creates a token.
        package init(name: String, file: String, scope: Scope) {
            self.name = name
            self.file = file
            self.scope = scope
        }
    }

    /// The operations of the control plane that a token allows.
    package enum Scope: String, Sendable, Hashable, CaseIterable {
        /// Read-only operations.
        case read
        /// Read-only operations and purges.
        case purge
        /// Every operation.
        case operate
    }

    /// The maximum time without progress, for each side. `nil` is the gateway's default of 60 s.
    package struct StallTimeouts: Sendable, Hashable {
        /// `timeouts.client`: how long a client may send none of a request's content.
        package var client: Duration?
        /// `timeouts.send`: how long an origin may read none of a request's content.
        package var send: Duration?
        /// `timeouts.receive`: how long an origin may send none of a response's content.
        package var receive: Duration?
        /// `timeouts.tunnel`: how long neither side of a tunnel may send data.
        package var tunnel: Duration?
        /// Creates settings with the defaults.
        package init() {}
    }

    /// `version`: the format version, which is 1.
    package static let version = 1
    /// The file's path; `nil` for a configuration created in Swift.
    public var file: String?
    /// `listen`: the gateway's listeners. If empty, the gateway uses its default address.
    package var listeners: [Listener] = []
    /// `threads`: the number of threads that serve connections.
    package var threads: Int?
    /// `mode`
    public var mode: OfflineMode?
    /// `clients`
    package var clients = Clients()
    /// `health`
    package var health = Health()
    /// `metrics`: the address at which Prometheus scrapes the gateway.
    package var metrics = Metrics()
    /// `forward-proxy`: the origins that clients may name themselves.
    package var forwardProxy = ForwardProxy()
    /// `log`
    package var log = Log()
    /// `control`
    package var control = Control()
    /// `timeouts.drain`: how long the gateway waits for in-flight exchanges when it stops.
    package var drainTimeout: Duration?
    /// `drain.delay`: the time between the first `SIGTERM` and closing the listeners. During this
    /// time, the gateway reports that it is not ready, but still accepts connections. Zero means no
    /// delay. `nil` means 5 s with `control.listen`, `health.path` or `health.ready`, otherwise no
    /// delay.
    package var drainDelay: Duration?
    /// `timeouts.client`, `timeouts.send`, `timeouts.receive`, `timeouts.tunnel`: the maximum time
    /// without progress in a transfer.
    package var stallTimeouts = StallTimeouts()
    /// `timeouts.connect`, `timeouts.first-byte`, `timeouts.idle`: the limits for every origin
    /// without its own limits.
    public var originTimeouts = OriginTimeouts()
    /// `origins`, in the order of the file.
    public var origins: [Origin] = []
    /// `store`
    public var store = Store()
    /// `fleet`
    package var fleet = Fleet()
    /// `limits`
    package var limits = Limits()
    /// The top-level `timeouts`, `breaker`, `guard`, `eager-refresh` and `failure-throttle`, and
    /// the limits for origins. Each setting applies to requests for which no rule decides it.
    public var options = EngineOptions()
    /// `routes`, in the order of matching. The first match applies.
    public var routes: [Route] = []
    /// The routes with `respond`, in the order of matching.
    package var fixedRoutes: [FixedRoute] = []
    /// `rules`
    public var rules: RuleSet
    /// The lines of the top-level settings, by their names in the file: `store.budget`.
    var lines: [String: Int] = [:]
    /// The files of the top-level settings that are not in the main file.
    var files: [String: String] = [:]
    /// The top-level settings with references to variables, as written in the file.
    var written: [String: String] = [:]
    /// Warnings that were found while the files were read. See ``checkWarnings``.
    var readingWarnings: [ConfigurationError.Finding] = []
    /// The references to variables, for messages about the configuration.
    package var references = References()
    /// See ``rejectedFiles``.
    var unreadableValues: [String] = []
    /// See ``rejectedFiles``.
    var unreadablePages: [String] = []

    /// Creates the configuration of a file that contains only its version.
    public init() {
        rules = .empty
    }
}
