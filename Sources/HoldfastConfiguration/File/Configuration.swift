public import HTTPCache

/// What one configuration file says, for library, gateway and tools alike. Every part is optional;
/// a `nil` is a default of whoever uses it.
public struct Configuration: Sendable {
    /// Where clients ask, and where that is at the origin.
    public struct Route: Sendable, Hashable {
        /// What messages call it.
        public var name: String?
        /// The host that clients ask for, with its port where they name one; `*.example.com` for
        /// all hosts of one more label. `nil`: any.
        public var host: String?
        /// The path that requests begin with, up to a slash or their end; taken away before they
        /// are sent. `/`: any.
        public var path: String
        /// An absolute URL; its path goes before what is left of the request's.
        public var origin: String
        /// Sends the client's `Host` to the origin, and keys by it.
        public var preservesHost: Bool
        /// How much of the network may be used for what goes this way. A rule with a mode goes
        /// before it.
        public var mode: OfflineMode?
        /// `unknown-fields`: what becomes of request fields of which nothing is known.
        public var unknownFields: FieldHandling?
        /// The line on which it begins.
        public var line: Int?
        /// Which of the file's routes it is, from 1: also where others before it could not be read.
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
        /// `path`: the store's folder; relative to the file's.
        public var path: String?
        /// `budget`: bytes on disk.
        public var budget: Int64?
        /// `memory`: bytes in memory.
        public var memory: Int?
        /// `largest-resident-body`: bytes of a body that is kept in memory.
        public var maximumResidentBody: Int?
        /// `secure-delete`
        public var securelyDeletes: Bool?
        /// `quotas.tags`: bytes by tag.
        public var tagQuotas: [String: Int64] = [:]
        /// `quotas.origins`: bytes by origin.
        public var originQuotas: [String: Int64] = [:]
        /// `quotas.each-origin`
        public var eachOriginQuota: Int64?
        /// `variants-per-key`: responses to one URL that are told apart by `Vary`.
        public var variantsPerKey: Int?
        /// `keep-offline-copies`: what is of use offline is evicted last, whenever it was used.
        public var keepsOfflineCopies: Bool?
        /// None.
        public init() {}
    }

    /// `limits`
    public struct Limits: Sendable, Hashable {
        /// `connections`: of clients at one time.
        public var connections: Int?
        /// `connections-per-client`: of one IP address at one time; `nil` where only `connections`
        /// counts.
        public var connectionsPerClient: Int?
        /// `request-body`: bytes of a request's content.
        public var requestBody: Int64?
        /// `upload-rate`: bytes of a request's content that a client has to send in a second; 0 is
        /// any rate.
        public var uploadRate: Int64?
        /// `in-flight-per-origin`
        public var inFlightPerOrigin: Int?
        /// `waiting-per-origin`
        public var waitingPerOrigin: Int?
        /// `keyed-content`: bytes of content that becomes part of a key.
        public var keyedContent: Int?
        /// `request-head`: bytes of a request's head.
        public var requestHead: Int?
        /// None.
        public init() {}
    }

    /// `clients`
    public struct Clients: Sendable, Hashable {
        /// `trusted`: proxies in front of the gateway, by their addresses.
        public var trusted: [AddressRange] = []
        /// `underscored-fields`: what becomes of request fields whose names hold a `_`;
        /// ``FieldHandling/drop`` or ``FieldHandling/pass``.
        public var underscoredFields: FieldHandling?
        /// `cache-status`: who is told more than whether it was a hit.
        public var cacheStatus: Audience?
        /// None.
        public init() {}
    }

    /// What becomes of request fields.
    public enum FieldHandling: String, Sendable, Hashable, CaseIterable {
        /// They are not forwarded.
        case drop
        /// They are forwarded.
        case pass
        /// They are forwarded, and the request goes past the store.
        case bypass
    }

    /// Who sees something.
    public enum Audience: String, Sendable, Hashable, CaseIterable {
        /// Every client.
        case everyone
        /// Those of `clients.trusted`.
        case trusted
    }

    /// How long each side may stand still; `nil` for the gateway's own 60 s.
    public struct StallTimeouts: Sendable, Hashable {
        /// `timeouts.client`: for a client to send more of a request's content.
        public var client: Duration?
        /// `timeouts.send`: for an origin to take more of it.
        public var send: Duration?
        /// `timeouts.receive`: for an origin to send more of a response's content.
        public var receive: Duration?
        /// The defaults.
        public init() {}
    }

    /// `version`; 1.
    public static let version = 1
    /// The file's path; `nil` for one that was made of Swift values.
    public var file: String?
    /// `listen`: host and port.
    public var listen: String?
    /// `threads`: that serve connections.
    public var threads: Int?
    /// `mode`
    public var mode: OfflineMode?
    /// `clients`
    public var clients = Clients()
    /// `timeouts.drain`: for exchanges under way when the gateway stops.
    public var drainTimeout: Duration?
    /// `timeouts.client`, `timeouts.send`, `timeouts.receive`: for bytes that do not come or go.
    public var stallTimeouts = StallTimeouts()
    /// `store`
    public var store = Store()
    /// `limits`
    public var limits = Limits()
    /// `timeouts`, `breaker`, `guard`, `eager-refresh`, `failure-throttle` at the top level, and
    /// the limits of origins: what holds where no rule says more.
    public var options = EngineOptions()
    /// `routes`, in the order in which they are tried: the first that matches is taken.
    public var routes: [Route] = []
    /// `rules`
    public var rules: RuleSet
    /// The lines of settings of the top level, by their names as they are written: `store.budget`.
    var lines: [String: Int] = [:]

    /// What a file that says nothing but its version says.
    public init() {
        rules = .empty
    }
}
