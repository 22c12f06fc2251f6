public import HTTPCache

/// The content of one configuration file, for the library, the gateway and the tools. Every part is
/// optional: for `nil`, each of them uses its own default.
public struct Configuration: Sendable {
    /// Maps a host and a path that clients request to an origin.
    public struct Route: Sendable, Hashable {
        /// The route's name in messages; `nil` if it is known by its number.
        public var name: String?
        /// The host that clients request, with its port if they name one. `*.example.com` stands
        /// for all hosts with one more label. `nil`: any host.
        public var host: String?
        /// The start of the request's path, up to a slash or the end. It is removed before the
        /// request is sent. `/`: any path.
        public var path: String
        /// An absolute URL. Its path is put before the rest of the request's path.
        public var origin: String
        /// Sends the client's `Host` to the origin, and makes it part of the key.
        public var preservesHost: Bool
        /// How much of the network requests on this route may use. The mode of a rule takes
        /// precedence.
        public var mode: OfflineMode?
        /// `unknown-fields`: how request fields that the gateway does not know are handled.
        public var unknownFields: FieldHandling?
        /// `tags-from`: fields by which the origin tags its responses. Clients do not get them. The
        /// `tags-from` of a rule takes precedence.
        public var tagsFrom: [TagField] = []
        /// `upgrades`: the protocols that clients may speak with the origin in place of HTTP, in
        /// lower case.
        public var upgrades: [String] = []
        /// `rewrite`: how responses are rewritten for the clients of a gateway.
        public var rewriting = Rewriting()
        /// The line on which it begins; `nil` if it comes from no file.
        public var line: Int?
        /// The most protocols in ``upgrades``.
        public static let upgradeLimit = 8
        /// Its number in the file, from 1. Routes that could not be read are counted too.
        var number: Int?

        /// A route.
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
        /// `budget`: bytes on disk.
        public var budget: Int64?
        /// `memory`: bytes in memory.
        public var memory: Int?
        /// `largest-resident-body`: the largest body that is kept in memory, in bytes.
        public var maximumResidentBody: Int?
        /// `secure-delete`
        public var securelyDeletes: Bool?
        /// `quotas.tags`: bytes on disk for each tag.
        public var tagQuotas: [String: Int64] = [:]
        /// `quotas.origins`: bytes on disk for each origin named.
        public var originQuotas: [String: Int64] = [:]
        /// `quotas.each-origin`: bytes on disk for each other origin.
        public var eachOriginQuota: Int64?
        /// `variants-per-key`: the most responses to one URL that differ by `Vary`.
        public var variantsPerKey: Int?
        /// `keep-offline-copies`: responses that can be served offline are evicted last, whenever
        /// they were used.
        public var keepsOfflineCopies: Bool?
        /// Sets nothing.
        public init() {}
    }

    /// `limits`
    public struct Limits: Sendable, Hashable {
        /// `connections`: the most client connections at one time.
        public var connections: Int?
        /// `connections-per-client`: the most connections of one IP address at one time; `nil` if
        /// only `connections` limits them.
        public var connectionsPerClient: Int?
        /// `request-body`: the most bytes of a request's content.
        public var requestBody: Int64?
        /// `upload-rate`: the bytes of a request's content that a client must send each second; 0
        /// allows any rate.
        public var uploadRate: Int64?
        /// `in-flight-per-origin`
        public var inFlightPerOrigin: Int?
        /// `waiting-per-origin`
        public var waitingPerOrigin: Int?
        /// `keyed-content`: the most bytes of content that can become part of a key.
        public var keyedContent: Int?
        /// `request-head`: the most bytes of a request's head.
        public var requestHead: Int?
        /// `tunnels`: the most tunnels of other protocols at one time.
        public var tunnels: Int?
        /// `response-memory`: bytes of stored content in memory for responses under way.
        public var responseMemory: Int?
        /// Sets nothing.
        public init() {}
    }

    /// `clients`
    public struct Clients: Sendable, Hashable {
        /// `trusted`: proxies in front of the gateway, by their addresses.
        public var trusted: [AddressRange] = []
        /// `purgers`: clients that may purge with the method PURGE if they have a token, by their
        /// addresses.
        public var purgers: [AddressRange] = []
        /// `underscored-fields`: how request fields are handled whose names have a `_` or another
        /// character than letters, digits and hyphens: ``FieldHandling/drop`` or
        /// ``FieldHandling/pass``.
        public var underscoredFields: FieldHandling?
        /// `trace`: whether TRACE is forwarded. `nil`: it is rejected
        public var forwardsTrace: Bool?
        /// `cache-status`: which clients see more of `Cache-Status` than whether it was a hit.
        public var cacheStatus: Audience?
        /// `request-id`: whether each request has an `X-Request-Id`, which its origin, its client
        /// and the access log get. `nil`: off
        public var identifiesRequests: Bool?
        /// Sets nothing.
        public init() {}
    }

    /// `health`: what clients of the gateway see of its health.
    public struct Health: Sendable, Hashable {
        /// `path`: the path on which they see it; `nil`: on none.
        public var path: String?
        /// On none.
        public init() {}
    }

    /// `metrics`: where Prometheus scrapes the gateway.
    public struct Metrics: Sendable, Hashable {
        /// `listen`: the host and port of this machine on which `/metrics` is served, and nothing
        /// else. `nil`: on none.
        public var listen: String?
        /// On none.
        public init() {}

        /// Whether clients on other machines can connect.
        package var isReachableFromOthers: Bool { Configuration.isReachableFromOthers(listen) }
    }

    /// How request fields are handled.
    public enum FieldHandling: String, Sendable, Hashable, CaseIterable {
        /// They are not forwarded.
        case drop
        /// They are forwarded.
        case pass
        /// They are forwarded, and the request bypasses the store: its response is not stored, and
        /// no stored response serves it.
        case bypass
    }

    /// The clients that see something.
    public enum Audience: String, Sendable, Hashable, CaseIterable {
        /// Every client.
        case everyone
        /// The clients of `clients.trusted`.
        case trusted
    }

    /// `control`: the control plane, through which operators steer a running gateway.
    public struct Control: Sendable, Hashable {
        /// `socket`: the path of its Unix socket. `nil`: in the folder of `RUNTIME_DIRECTORY`, else
        /// in the store's folder.
        public var socket: String?
        /// `socket: off`: there is no control plane.
        public var isOff = false
        /// `listen`: the host and port on which it listens beside the socket. `nil`: on none.
        public var listen: String?
        /// `tokens`: the secrets that open it there. If it is empty, one is made in the store's
        /// folder.
        public var tokens: [Token] = []
        /// `hosts`: the hosts by which clients may name it there, beside that of `listen` and
        /// `localhost`.
        public var hosts: [String] = []
        /// `insecure`: tokens may cross a network without TLS.
        public var isInsecure = false
        /// The default.
        public init() {}

        /// Whether clients on other machines can connect.
        package var isReachableFromOthers: Bool { Configuration.isReachableFromOthers(listen) }
    }

    /// Whether clients on other machines can connect to an address, a host and a port.
    private static func isReachableFromOthers(_ listen: String?) -> Bool {
        guard let listen, let colon = listen.lastIndex(of: ":") else { return false }
        let written = listen[..<colon].lowercased()
        let host = written.hasPrefix("[") ? String(written.dropFirst().dropLast()) : written
        return host != "localhost" && host != "::1" && AddressRange("127.0.0.0/8")?.contains(host) != true
    }

    /// A secret that opens the control plane on TCP.
    public struct Token: Sendable, Hashable {
        /// `name`: its name in log and history.
        public var name: String
        /// `file`: the path of the file with the secret, relative to the configuration file.
        public var file: String
        /// `scope`: the operations that it opens.
        public var scope: Scope

        /// A token.
        public init(name: String, file: String, scope: Scope) {
            self.name = name
            self.file = file
            self.scope = scope
        }
    }

    /// The operations of the control plane that a token opens.
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// Operations that change nothing.
        case read
        /// Purges too.
        case purge
        /// Every operation.
        case operate
    }

    /// How long each side may make no progress; `nil` for the gateway's default of 60 s.
    public struct StallTimeouts: Sendable, Hashable {
        /// `timeouts.client`: for a client that sends a request's content.
        public var client: Duration?
        /// `timeouts.send`: for an origin that reads a request's content.
        public var send: Duration?
        /// `timeouts.receive`: for an origin that sends a response's content.
        public var receive: Duration?
        /// `timeouts.tunnel`: for both sides of a tunnel together.
        public var tunnel: Duration?
        /// The defaults.
        public init() {}
    }

    /// `version`: the version of the format; 1.
    public static let version = 1
    /// The file's path; `nil` for a configuration made in Swift.
    public var file: String?
    /// `listen`: where the gateway listens; empty for its default address.
    public var listeners: [Listener] = []
    /// `threads`: the number of threads that serve connections.
    public var threads: Int?
    /// `mode`
    public var mode: OfflineMode?
    /// `clients`
    public var clients = Clients()
    /// `health`
    public var health = Health()
    /// `metrics`: where Prometheus scrapes the gateway.
    public var metrics = Metrics()
    /// `log`
    public var log = Log()
    /// `control`
    public var control = Control()
    /// `timeouts.drain`: how long the gateway waits for exchanges under way when it stops.
    public var drainTimeout: Duration?
    /// `drain.delay`: how long the gateway accepts connections after the first `SIGTERM`, and is
    /// not ready, before it closes its listeners. Zero: not at all. `nil`: 5 s with
    /// `control.listen`, else not at all.
    public var drainDelay: Duration?
    /// `timeouts.client`, `timeouts.send`, `timeouts.receive`: how long a transfer may make no
    /// progress.
    public var stallTimeouts = StallTimeouts()
    /// `timeouts.connect`, `timeouts.first-byte`, `timeouts.idle`: for every origin without limits
    /// of its own.
    public var originTimeouts = OriginTimeouts()
    /// `origins`, in the order of the file.
    public var origins: [Origin] = []
    /// `store`
    public var store = Store()
    /// `fleet`
    public var fleet = Fleet()
    /// `limits`
    public var limits = Limits()
    /// `timeouts`, `breaker`, `guard`, `eager-refresh` and `failure-throttle` of the top level, and
    /// the limits of origins. They apply to requests for which no rule decides.
    public var options = EngineOptions()
    /// `routes`, in the order in which they are tried: the first match is used.
    public var routes: [Route] = []
    /// `rules`
    public var rules: RuleSet
    /// The lines of the top level's settings, by their names in the file: `store.budget`.
    var lines: [String: Int] = [:]

    /// The configuration of a file that holds nothing but its version.
    public init() {
        rules = .empty
    }
}
