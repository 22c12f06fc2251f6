public import HoldfastConfiguration
import LocalSockets
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A place where a gateway listens.
public enum GatewayListener: Sendable, Hashable, CustomStringConvertible {
    /// A host and a port.
    case address(ListenAddress, tls: Configuration.TLS? = nil, http2: Bool = true)
    /// A Unix socket, made for the time in which the gateway listens. Its clients are named `unix`.
    case unix(path: String, mode: UInt16 = 0o660, tls: Configuration.TLS? = nil, http2: Bool = true)
    /// A socket that another process made and keeps.
    case inherited(InheritedSocket, tls: Configuration.TLS? = nil, http2: Bool = true)

    /// The most listeners of a gateway: 16
    public static let limit = Configuration.listenerLimit

    /// The listener as a configuration file would name it.
    public var description: String {
        switch self {
        case .address(let address, let tls, let http2):
            Configuration.Listener.address("\(address)", tls: tls, http2: http2).text
        case .unix(let path, let mode, let tls, let http2):
            Configuration.Listener.unix(path: path, mode: mode, tls: tls, http2: http2).text
        case .inherited(let socket, _, _): "\(socket.address)"
        }
    }

    /// The same without TLS, whose settings are long.
    var withoutTLS: GatewayListener {
        switch self {
        case .address(let address, _, let http2): .address(address, http2: http2)
        case .unix(let path, let mode, _, let http2): .unix(path: path, mode: mode, http2: http2)
        case .inherited(let socket, _, let http2): .inherited(socket, http2: http2)
        }
    }

    /// The settings of TLS, if its clients speak it. The files are read when the gateway begins to
    /// listen.
    public var tls: Configuration.TLS? {
        switch self {
        case .address(_, let tls, let http2), .unix(_, _, let tls, let http2), .inherited(_, let tls, let http2):
            guard var limited = tls, !http2 else { return tls }
            limited.protocols.removeAll { $0 == .http2 }
            return limited
        }
    }

    /// Whether its clients may speak HTTP/2. With TLS, the protocols of ``tls`` decide too.
    public var acceptsHTTP2: Bool {
        switch self {
        case .address(_, _, let http2), .unix(_, _, _, let http2), .inherited(_, _, let http2):
            http2 && tls?.protocols.contains(.http2) ?? true
        }
    }

    /// The path of a Unix socket with the words of messages.
    static func place(_ path: String) -> SocketPlace {
        SocketPlace(path: path, kind: "Unix socket", setting: "'listen' in the configuration file")
    }
}

/// Why a gateway cannot listen at one of its places.
public struct ListenFailure: Error, Sendable, CustomStringConvertible {
    /// The place.
    public let listener: GatewayListener
    /// The system's error; for a Unix socket a `SocketRefusal`, which names the next step.
    public let cause: any Error

    /// Whether a certificate of the listener, or its key, cannot be used.
    public var isOfCertificate: Bool { cause is CertificateRefusal }

    /// The place, and the cause in words.
    public var description: String {
        // The library's own text describes its system call, which does not help the user.
        let why = (cause as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(cause)"
        return "The gateway cannot listen on '\(listener.withoutTLS)': \(why)"
    }
}

extension Array<GatewayListener> {
    /// The listeners of a configuration file, in its order.
    init(_ configuration: HoldfastConfiguration.Configuration) throws {
        self = try configuration.resolvedListeners.map { listener in
            do {
                switch listener {
                case .address(let text, let tls, let http2):
                    return .address(try ListenAddress(text), tls: tls, http2: http2)
                case .unix(let path, let mode, let tls, let http2):
                    try GatewayListener.place(path).checkLength()
                    return .unix(path: path, mode: mode, tls: tls, http2: http2)
                }
            } catch {
                throw ConfigurationError([.init(file: configuration.file, setting: "listen", message: "\(error)")])
            }
        }
    }
}

extension GatewayListener {
    /// Why sockets of a service manager cannot be served.
    public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// A sentence that names the socket and the next step.
        public let description: String
    }

    /// The sockets of a service manager. Each gets the TLS of the listener with the same address,
    /// and its protocols.
    ///
    /// - Parameter configured: the listeners that they replace.
    /// - Throws: ``Refusal`` if listeners have TLS, and a socket has the address of none: it would
    ///   be served without TLS by mistake.
    public static func inherited(
        _ sockets: [InheritedSocket],
        for configured: [GatewayListener]
    ) throws(Refusal) -> [GatewayListener] {
        var result: [GatewayListener] = []
        for socket in sockets {
            let same = configured.first { $0.place == socket.address }
            guard same != nil || configured.allSatisfy({ $0.tls == nil }) else {
                throw Refusal(
                    description:
                        "The service manager passes a socket at '\(socket.address)', which 'listen' does not name, and other members of 'listen' have TLS. "
                        + "Name its address there, with or without 'tls'."
                )
            }
            result.append(.inherited(socket, tls: same?.tls, http2: same?.acceptsHTTP2 ?? true))
        }
        return result
    }

    /// The address, if it is known before the gateway listens.
    private var place: ListenAddress {
        switch self {
        case .address(let address, _, _): address
        case .unix(let path, _, _, _): ListenAddress(path: path)
        case .inherited(let socket, _, _): socket.address
        }
    }
}
