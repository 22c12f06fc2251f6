/// The settings of origins.
extension Configuration {
    /// A member of `origins`: how to reach one origin.
    public struct Origin: Sendable, Hashable {
        /// The origin, such as `https://api.example.com`: scheme and authority, without the
        /// scheme's default port.
        public var url: String
        /// `ca`, `certificate`, `key`, `server-name`, `verify`: the settings for TLS connections.
        public var tls = TLS()
        /// `insecure`: whether unprotected connections are allowed. See ``TLS/isVerified`` and
        /// ``mirrors``.
        public var isInsecure = false
        /// `addresses`: hosts and ports to connect to, in order, instead of resolving the origin's
        /// name.
        public var addresses: [String] = []
        /// `mirrors`: other servers with the same content, in order, as absolute URLs.
        public var mirrors: [String] = []
        /// `balance`: the order in which the addresses and mirrors are tried.
        public var balance = Balance.listed
        /// `credentials`: whether the origin, as a mirror, receives requests with credentials and
        /// the fields that rules set. By default it receives neither, because a mirror may belong
        /// to another owner.
        public var takesCredentials = false
        /// `health`: the health check. `nil` disables it.
        public var health: HealthCheck?
        /// `timeouts`
        public var timeouts = OriginTimeouts()
        /// The line on which the origin begins; `nil` if the origin is not from a file.
        package var line: Int?
        /// The file that contains the origin.
        package var file: String?
        /// The settings with references to variables, as written in the file.
        var written: [String: String] = [:]

        /// Creates an origin with the defaults.
        public init(url: String) { self.url = url }

        /// The maximum number of addresses, and of mirrors.
        package static let serverLimit = 8
    }

    /// The maximum number of members in `origins`.
    package static let originLimit = 64

    /// Time limits for connections to an origin. `nil` uses the top-level limit or the default.
    public struct OriginTimeouts: Sendable, Hashable {
        /// `connect`: the time limit for opening a connection, including TLS.
        public var connect: Duration?
        /// `first-byte`: the time limit from the last byte of a request to the first byte of its
        /// response.
        public var firstByte: Duration?
        /// `send`: how long the origin may read none of a request's content.
        public var send: Duration?
        /// `receive`: how long the origin may send none of a response's content.
        public var receive: Duration?
        /// `idle`: how long a connection without requests stays open.
        public var idle: Duration?
        /// Creates settings with the defaults.
        public init() {}
    }
}

extension Configuration.Origin {
    /// `balance`: the order in which an origin's servers are tried.
    public enum Balance: String, Sendable, Hashable, CaseIterable {
        /// In the order of the file: the addresses, then the mirrors.
        case listed
        /// The server that was chosen longest ago is tried first, then the next one.
        case roundRobin = "round-robin"
    }

    /// TLS for connections to an origin.
    public struct TLS: Sendable, Hashable {
        /// `ca`: the path of a PEM file with trusted certificates, which replace the system's.
        public var roots: String?
        /// `certificate`: the path of a PEM file with the certificate to present to the origin, and
        /// its intermediate certificates.
        public var certificate: String?
        /// `key`: the path of a PEM file with the certificate's private key.
        public var key: String?
        /// `server-name`: the name to send, which the origin's certificate must have. `nil` uses
        /// the origin's host.
        public var serverName: String?
        /// `verify`: whether the origin's certificate is verified.
        public var isVerified = true
        /// Creates settings with the system's trusted certificates and no client certificate.
        public init() {}

        /// Whether the settings differ from the defaults.
        package var isSet: Bool { self != Self() }
    }

    /// `health`: a request that is regularly sent to each server of an origin.
    public struct HealthCheck: Sendable, Hashable {
        /// `path`: the path and query to request. For a mirror, they are appended to the mirror's
        /// path.
        public var path: String
        /// `interval`: the time between two requests. Default: 10 s
        public var interval = Duration.seconds(10)
        /// `timeout`: the time limit for the head of the response. Default: 2 s, or the interval if
        /// it is shorter
        public var timeout = Duration.seconds(2)
        /// `expect`: the statuses of a healthy server. Default: 200 to 399
        public var expected = 200...399
        /// Creates a check with the defaults.
        public init(path: String) { self.path = path }
    }

    /// Warnings about protection that the origin's settings disable, one sentence each.
    package var warnings: [String] {
        var result: [String] = []
        if !tls.isVerified {
            result.append(
                "The certificate of '\(url)' is not verified ('verify: false'), so anyone on the network path can read and change the traffic."
            )
        }
        for mirror in unprotectedMirrors {
            result.append(
                "The mirror '\(mirror)' of '\(url)' does not use TLS, so anyone on the network path can change the responses that are stored for that origin."
            )
        }
        return result
    }

    /// The mirrors without TLS of an origin with TLS.
    var unprotectedMirrors: [String] {
        url.hasPrefix("https:") ? mirrors.filter { !$0.lowercased().hasPrefix("https:") } : []
    }

    /// Returns a copy in which `path` has been applied to each file path.
    func mapPaths(_ path: (String) -> String) -> Self {
        var result = self
        result.tls.roots = tls.roots.map(path)
        result.tls.certificate = tls.certificate.map(path)
        result.tls.key = tls.key.map(path)
        return result
    }
}

extension Configuration {
    /// The members of `origins`, with file paths that can be opened.
    package var resolvedOrigins: [Origin] { origins.map { $0.mapPaths(besideFile) } }

    /// Warnings about settings that disable protection, one sentence each.
    package var warnings: [String] { origins.flatMap(\.warnings).map { references.hide(in: $0) } }
}
