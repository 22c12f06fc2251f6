import HoldfastConfiguration
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
    case address(ListenAddress)
    /// A Unix socket, made for the time in which the gateway listens. Its clients are named `unix`.
    case unix(path: String, mode: UInt16 = 0o660)
    /// A socket that another process made and keeps.
    case inherited(InheritedSocket)

    /// The most listeners of a gateway: 16
    public static let limit = Configuration.listenerLimit

    /// The listener as a configuration file would name it.
    public var description: String {
        switch self {
        case .address(let address): "\(address)"
        case .unix(let path, let mode): Configuration.Listener.unix(path: path, mode: mode).text
        case .inherited(let socket): "\(socket.address)"
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

    /// The place, and the cause in words.
    public var description: String {
        // The library's own text describes its system call, which does not help the user.
        let why = (cause as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(cause)"
        return "The gateway cannot listen on '\(listener)': \(why)"
    }
}

extension Array<GatewayListener> {
    /// The listeners of a configuration file, in its order.
    init(_ configuration: HoldfastConfiguration.Configuration) throws {
        self = try configuration.resolvedListeners.map { listener in
            do {
                switch listener {
                case .address(let text): return .address(try ListenAddress(text))
                case .unix(let path, let mode):
                    try GatewayListener.place(path).checkLength()
                    return .unix(path: path, mode: mode)
                }
            } catch {
                throw ConfigurationError([.init(file: configuration.file, setting: "listen", message: "\(error)")])
            }
        }
    }
}
