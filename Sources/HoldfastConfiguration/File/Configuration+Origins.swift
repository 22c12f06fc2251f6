/// The settings of origins.
extension Configuration {
    /// A member of `origins`: how one origin is reached.
    public struct Origin: Sendable, Hashable {
        /// The origin, as `https://api.example.com`: scheme and authority, without the scheme's
        /// port.
        public var url: String
        /// `ca`, `certificate`, `key`, `server-name`, `verify`
        public var tls = TLS()
        /// `insecure`: connections without protection are allowed. See ``TLS/isVerified`` and
        /// ``mirrors``.
        public var isInsecure = false
        /// `addresses`: hosts and ports that are connected to in place of the address of the
        /// origin's name, in their order.
        public var addresses: [String] = []
        /// `mirrors`: other servers with the same content, in their order, as absolute URLs.
        public var mirrors: [String] = []
        /// `credentials`: as a mirror, it gets requests with credentials, and the fields that rules
        /// set. Otherwise it gets neither, because a mirror has another owner.
        public var takesCredentials = false
        /// `health`: `nil` if the origin's servers are not asked.
        public var health: HealthCheck?
        /// `timeouts`
        public var timeouts = OriginTimeouts()
        /// The line on which it begins; `nil` if it comes from no file.
        public var line: Int?

        /// An origin with the defaults.
        public init(url: String) { self.url = url }

        /// The most servers of each kind: addresses, and mirrors.
        public static let serverLimit = 8
    }

    /// The most members of `origins`.
    public static let originLimit = 64

    /// Time limits on connections to an origin; `nil` for those of the top level, or the defaults.
    public struct OriginTimeouts: Sendable, Hashable {
        /// `connect`: to open a connection, TLS included.
        public var connect: Duration?
        /// `first-byte`: from the last byte sent to the first byte of a response.
        public var firstByte: Duration?
        /// `send`: for the origin to read more of a request's content.
        public var send: Duration?
        /// `receive`: between bytes of a response's content.
        public var receive: Duration?
        /// `idle`: how long a connection is kept without a request.
        public var idle: Duration?
        /// The defaults.
        public init() {}
    }
}

extension Configuration.Origin {
    /// TLS towards an origin.
    public struct TLS: Sendable, Hashable {
        /// `ca`: the path of a PEM file of trusted certificates. They replace the system's.
        public var roots: String?
        /// `certificate`: the path of a PEM file with the certificate that the origin gets, and
        /// those that lead to its root.
        public var certificate: String?
        /// `key`: the path of a PEM file with the private key of that certificate.
        public var key: String?
        /// `server-name`: the name that is sent and that the origin's certificate must have. `nil`:
        /// the origin's host.
        public var serverName: String?
        /// `verify`: whether the origin's certificate is verified.
        public var isVerified = true
        /// The system's trusted certificates, and none of its own.
        public init() {}

        /// Whether it differs from the defaults.
        package var isSet: Bool { self != Self() }
    }

    /// `health`: a request that is sent to each server of an origin from time to time.
    public struct HealthCheck: Sendable, Hashable {
        /// `path`: path and query, which replace those of other requests.
        public var path: String
        /// `interval`: the time between two requests. 10 s
        public var interval = Duration.seconds(10)
        /// `timeout`: the time for the head of the response. 2 s, or the interval if that is
        /// shorter.
        public var timeout = Duration.seconds(2)
        /// `expect`: the statuses of a server in order. 200 to 399
        public var expected = 200...399
        /// A check with the defaults.
        public init(path: String) { self.path = path }
    }

    /// The protection that its settings take away, as sentences.
    public var warnings: [String] {
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

    /// The mirrors without TLS of an origin that has it.
    var unprotectedMirrors: [String] {
        url.hasPrefix("https:") ? mirrors.filter { !$0.lowercased().hasPrefix("https:") } : []
    }

    /// The same with other paths of files.
    func mapPaths(_ path: (String) -> String) -> Self {
        var result = self
        result.tls.roots = tls.roots.map(path)
        result.tls.certificate = tls.certificate.map(path)
        result.tls.key = tls.key.map(path)
        return result
    }
}

extension Configuration {
    /// The members of `origins`, with the paths at which their files can be read.
    public var resolvedOrigins: [Origin] { origins.map { $0.mapPaths(besideFile) } }

    /// Sentences about settings that take protection away.
    public var warnings: [String] { origins.flatMap(\.warnings) }
}
