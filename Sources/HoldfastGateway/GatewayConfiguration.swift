import HTTPCacheSemantics
import HTTPTypes

/// What a gateway is told at its start. Everything but the origin has a default.
public struct GatewayConfiguration: Sendable {
    /// The one origin whose responses are served; no request chooses another.
    public var origin: GatewayOrigin
    /// The address to listen on: a name or an IP address.
    public var host: String
    /// The port to listen on; 0 for any that is free.
    public var port: Int
    /// Sends the client's `Host` to the origin, and keys by it; for origins that serve several names. `false`
    ///
    /// The transport must be told where the origin is, then: see ``OriginTransport/Configuration/origin``.
    public var preservesHost = false
    /// How this gateway calls itself in `Via`, a token. RFC 9110 §7.6.3
    public var pseudonym = "holdfast"
    /// Connections of clients at one time; one more is answered 503 and closed. 10,000
    public var maximumConnections = 10_000
    /// See ``MessageLimits``; for requests.
    public var messageLimits = MessageLimits()
    /// Octets of a QUERY's content that are read into memory, to be part of the key; longer content passes through. 1 MiB
    public var keyedContentLimit = 1 << 20
    /// Octets of content that nobody wants (a GET's, or behind an early answer) that are read so that the connection stays. 1 MiB
    public var discardedContentLimit = 1 << 20
    /// See ``Timeouts``.
    public var timeouts = Timeouts()

    /// How long a client may take.
    public struct Timeouts: Sendable, Hashable {
        /// To begin a request on a connection that had one. 60 s
        public var keepAlive = Duration.seconds(60)
        /// To send a request's head whole, from its first octet, or from the connection's beginning. 30 s
        public var head = Duration.seconds(30)
        /// To send the next octets of a request's content. 60 s
        public var content = Duration.seconds(60)
        /// To take the next octets of a response. 60 s
        public var write = Duration.seconds(60)
        /// To close its side after an answer that ended the connection. 2 s
        public var closing = Duration.seconds(2)
        /// For exchanges under way when the gateway stops; then their connections are closed. 10 s
        public var draining = Duration.seconds(10)

        /// The defaults.
        public init() {}
    }

    /// A configuration with the defaults.
    ///
    /// - Parameters:
    ///   - host: the address to listen on.
    ///   - port: 0 for any that is free.
    public init(origin: GatewayOrigin, host: String = "127.0.0.1", port: Int = 8080) {
        self.origin = origin
        self.host = host
        self.port = port
    }
}

/// Where a gateway's responses come from.
public struct GatewayOrigin: Sendable, Hashable {
    /// `http` or `https`.
    public let scheme: String
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port, explicit or the scheme's.
    public let port: UInt16
    /// `host`, and the port where it is not the scheme's: what is sent as `Host`.
    public let authority: String
    /// What stands before every request's path; empty, or begins with a slash and ends without one.
    public let pathPrefix: String

    /// Why a text names no origin.
    public struct Refusal: Error, Sendable, CustomStringConvertible {
        /// What is wrong with it, and what is expected.
        public let description: String
    }

    /// - Parameter url: an absolute `http` or `https` URL without query, user information or fragment. Its path is put before every
    ///   request's path.
    /// - Throws: ``Refusal``
    public init(_ url: String) throws {
        let target: TargetURI
        do {
            target = try TargetURI(url)
        } catch {
            throw Refusal(description: "\(error)")
        }
        guard target.query == nil, !url.contains("#") else {
            throw Refusal(description: "An origin has neither query nor fragment; '\(target.redacted)' has one.")
        }
        scheme = target.scheme
        host = target.host
        port = target.port
        authority = target.authority
        var path = target.path[...]
        while path.hasSuffix("/") { path.removeLast() }
        pathPrefix = String(path)
    }
}
