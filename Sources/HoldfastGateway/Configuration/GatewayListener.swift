package import HTTPCacheSemantics
public import HoldfastConfiguration
import LibC
package import LocalSockets
import NIOCore
import TLSCertificates

/// An address or socket where a gateway listens.
public enum GatewayListener: Sendable, Hashable, CustomStringConvertible {
    /// A host and a port.
    case address(ListenAddress, tls: Configuration.TLS? = nil, http2: Bool = true, proxyProtocol: Bool = false)
    /// A Unix socket that exists while the gateway listens. Its clients are named `unix`.
    case unix(
        path: String,
        mode: UInt16 = 0o660,
        tls: Configuration.TLS? = nil,
        http2: Bool = true,
        proxyProtocol: Bool = false
    )
    /// A socket that another process created and keeps.
    case inherited(InheritedSocket, tls: Configuration.TLS? = nil, http2: Bool = true, proxyProtocol: Bool = false)

    /// The maximum number of listeners of a gateway: 16
    package static let limit = Configuration.listenerLimit

    /// The listener as written in a configuration file.
    public var description: String {
        switch self {
        case .address(let address, let tls, let http2, let proxy):
            Configuration.Listener.address("\(address)", tls: tls, http2: http2, proxyProtocol: proxy).text
        case .unix(let path, let mode, let tls, let http2, let proxy):
            Configuration.Listener.unix(path: path, mode: mode, tls: tls, http2: http2, proxyProtocol: proxy).text
        case .inherited(let socket, _, _, _): "\(socket.address)"
        }
    }

    /// The listener without its TLS settings, which are too long for a message.
    var withoutTLS: GatewayListener {
        switch self {
        case .address(let address, _, let http2, let proxy): .address(address, http2: http2, proxyProtocol: proxy)
        case .unix(let path, let mode, _, let http2, let proxy):
            .unix(path: path, mode: mode, http2: http2, proxyProtocol: proxy)
        case .inherited(let socket, _, let http2, let proxy): .inherited(socket, http2: http2, proxyProtocol: proxy)
        }
    }

    /// The TLS settings, if clients use TLS. The files are read when the gateway starts to listen.
    package var tls: Configuration.TLS? {
        switch self {
        case .address(_, let tls, let http2, _), .unix(_, _, let tls, let http2, _),
            .inherited(_, let tls, let http2, _):
            guard var limited = tls, !http2 else { return tls }
            limited.protocols.removeAll { $0 == .http2 }
            return limited
        }
    }

    /// Whether clients may use HTTP/2. With TLS, the protocols of ``tls`` must also allow it.
    package var acceptsHTTP2: Bool {
        switch self {
        case .address(_, _, let http2, _), .unix(_, _, _, let http2, _), .inherited(_, _, let http2, _):
            http2 && tls?.protocols.contains(.http2) ?? true
        }
    }

    /// Whether each connection starts with a PROXY protocol header, which names the client. If
    /// `true`, only clients in ``GatewayConfiguration/trustedClients`` may connect.
    package var expectsProxyHeader: Bool {
        switch self {
        case .address(_, _, _, let proxy), .unix(_, _, _, _, let proxy), .inherited(_, _, _, let proxy): proxy
        }
    }

    /// Returns the location of a Unix socket, with names for messages.
    package static func place(_ path: String) -> SocketLocation {
        SocketLocation(path: path, kind: "Unix socket", setting: "'listen' in the configuration file")
    }
}

/// The error if a gateway cannot listen on one of its listeners.
public struct ListenFailure: Error, Sendable, CustomStringConvertible {
    /// The listener that cannot be opened.
    public let listener: GatewayListener
    /// The cause, for example the system's error. For a Unix socket, it may be a `SocketRefusal`,
    /// which states the next step.
    public let cause: any Error

    /// The listener, and the cause in words.
    public var description: String {
        // The library's own text describes its system call, which does not help the user.
        let why = (cause as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(cause)"
        return "The gateway cannot listen on '\(listener.withoutTLS)': \(why)"
    }
}

extension Array<GatewayListener> {
    /// The ports that clients write in `Host`: not those that URLs omit, and not a free port.
    var clientPorts: Set<UInt16> {
        Set(compactMap { UInt16(exactly: $0.place.port) }).subtracting([0, 80, 443])
    }

    /// The listeners of a configuration file, in order.
    init(_ configuration: HoldfastConfiguration.Configuration) throws {
        self = try configuration.resolvedListeners.map { listener in
            do {
                switch listener {
                case .address(let text, let tls, let http2, let proxy):
                    return .address(try ListenAddress(text), tls: tls, http2: http2, proxyProtocol: proxy)
                case .unix(let path, let mode, let tls, let http2, let proxy):
                    try GatewayListener.place(path).checkLength()
                    return .unix(path: path, mode: mode, tls: tls, http2: http2, proxyProtocol: proxy)
                }
            } catch {
                throw ConfigurationError([.init(file: configuration.file, setting: "listen", message: "\(error)")])
            }
        }
    }
}

extension GatewayListener {
    /// Creates listeners for a service manager's sockets. Each gets the TLS settings and the
    /// protocols of the configured listener with the same address.
    ///
    /// - Parameter configured: the listeners that the sockets replace.
    /// - Throws: `InvalidSetting` if any configured listener has TLS or the PROXY protocol, and a
    ///   socket matches no configured address. Such a socket would be served without them by
    ///   mistake.
    package static func inherited(
        _ sockets: [InheritedSocket],
        for configured: [GatewayListener]
    ) throws(InvalidSetting) -> [GatewayListener] {
        var result: [GatewayListener] = []
        for socket in sockets {
            let same = configured.first { $0.place == socket.address }
            guard same != nil || configured.allSatisfy({ $0.tls == nil && !$0.expectsProxyHeader }) else {
                throw InvalidSetting(
                    "The service manager passes a socket at '\(socket.address)', but 'listen' does not name that address, and other entries of 'listen' use TLS or the PROXY protocol. "
                        + "Add the address to 'listen', with or without 'tls' and 'proxy-protocol'."
                )
            }
            result.append(
                .inherited(
                    socket,
                    tls: same?.tls,
                    http2: same?.acceptsHTTP2 ?? true,
                    proxyProtocol: same?.expectsProxyHeader ?? false
                )
            )
        }
        return result
    }

    /// The address, if it is known before listening.
    var place: ListenAddress {
        switch self {
        case .address(let address, _, _, _): address
        case .unix(let path, _, _, _, _): ListenAddress(path: path)
        case .inherited(let socket, _, _, _): socket.address
        }
    }
}
