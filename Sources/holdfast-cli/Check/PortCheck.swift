import HoldfastConfiguration
import HoldfastGateway
import LibC
import NIOCore

/// Whether this process could listen on an address. It binds a socket but accepts no connection, so
/// no client notices.
enum PortCheck: Equatable {
    case free
    case inUse
    /// A port below 1024, for a user without the right to it.
    case forbidden
    /// The host has no address on this machine, or the name does not resolve.
    case unknown(String)

    init(_ address: ListenAddress) {
        guard address.path == nil, address.port > 0 else {
            self = .free
            return
        }
        do {
            let place = try SocketAddress.makeAddressResolvingHost(address.host, port: address.port)
            self = Self.tryBinding(to: place, of: address.host)
        } catch {
            self = .unknown("the name does not resolve")
        }
    }

    private static func tryBinding(to place: SocketAddress, of host: String) -> PortCheck {
        #if canImport(Glibc)
            let kind = CInt(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        let descriptor = socket(place.protocol == .inet6 ? AF_INET6 : AF_INET, kind, 0)
        guard descriptor >= 0 else { return .unknown(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var isOn: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<CInt>.size))
        guard place.withSockAddr({ bind(descriptor, $0, socklen_t($1)) }) != 0 else { return .free }
        switch errno {
        case EADDRINUSE: return .inUse
        case EACCES: return .forbidden
        case EADDRNOTAVAIL: return .unknown("this machine has no address '\(host)'")
        case let code: return .unknown(String(cString: strerror(code)))
        }
    }
}

extension Configuration {
    /// Returns findings for addresses that are one address once their names are resolved, as the
    /// operating system resolves them when a listener is opened.
    ///
    /// - Parameters:
    ///   - listeners: the gateway's listeners.
    ///   - areReplaced: whether they are not those of the file.
    func resolvedCollisions(of listeners: [GatewayListener], areReplaced: Bool) -> [ConfigurationError.Finding] {
        let addresses = listeners.compactMap { listener -> String? in
            if case .address(let address, _, _, _) = listener { address.description } else { nil }
        }
        return resolvedCollisions(of: addresses, areReplaced: areReplaced) { text in
            guard let address = try? ListenAddress(text),
                let place = try? SocketAddress.makeAddressResolvingHost(address.host, port: address.port)
            else { return nil }
            return place.ipAddress.map { ListenAddress(host: $0, port: address.port).description }
        }
    }
}
