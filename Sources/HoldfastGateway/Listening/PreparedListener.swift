import LibC
package import LocalSockets
import NIOCore

/// The sockets of a listener, before a server accepts connections from them. Clients that connect
/// meanwhile wait in their queues.
package struct PreparedListener: Sendable {
    /// The address where clients connect.
    let address: ListenAddress
    let sockets: [OpenDescriptor]
    /// The claim on the path of a Unix socket that this process created.
    private let ownClaim: SocketClaim?
    /// The lock on the path of a Unix socket that another process created.
    private let lock: OpenDescriptor?

    /// Returns the claim on the path of a Unix socket. If another process created the socket, it
    /// must have left the path to this process.
    func claim(_ place: SocketLocation) throws(SocketRefusal) -> SocketClaim {
        if let ownClaim { return ownClaim }
        guard let lock else { return try SocketClaim(place) }
        return try SocketClaim(place, takingOver: lock)
    }

    /// Opens a listener's socket.
    ///
    /// - Returns: `nil` for a listener whose socket a service manager keeps.
    fileprivate init?(opening listener: GatewayListener) throws {
        lock = nil
        switch listener {
        case .inherited: return nil
        case .unix(let path, _, _, _, _):
            let claim = try SocketClaim(GatewayListener.place(path))
            sockets = [try claim.listen()]
            address = listener.place
            ownClaim = claim
        case .address(let place, _, _, _):
            let socket = try place.boundSocket()
            guard systemListen(socket.number, SOMAXCONN) == 0 else { throw IOError(errnoCode: errno, reason: "listen") }
            address = try InheritedSocket(descriptor: socket.number).address
            sockets = [socket]
            ownClaim = nil
        }
    }

    /// Takes the sockets that another process has passed.
    fileprivate init(_ listener: GatewayListener, taking passed: PassedListener) throws {
        var addresses: [ListenAddress] = []
        for socket in passed.sockets { addresses.append(try InheritedSocket(descriptor: socket.number).address) }
        if case .unix(let path, _, _, _, _) = listener, let lock = passed.lock {
            try SocketClaim.check(GatewayListener.place(path), takingOver: lock)
        }
        address = addresses.first ?? listener.place
        sockets = passed.sockets
        lock = passed.lock
        ownClaim = nil
    }
}

extension PreparedListener {
    /// Prepares listeners: those that another process has passed, and new ones for the others.
    ///
    /// A listener gets the sockets of a passed listener that was configured with the same address,
    /// or that listens there.
    ///
    /// - Parameter passed: passed listeners that no listener names are not used.
    /// - Returns: a value for each listener; `nil` if a service manager keeps its socket.
    /// - Throws: ``ListenFailure``
    package static func prepare(
        _ listeners: [GatewayListener],
        from passed: [PassedListener]
    ) throws -> [PreparedListener?] {
        var rest = passed
        return try listeners.map { listener -> PreparedListener? in
            do {
                guard let index = rest.firstIndex(where: { listener.mayTake($0) }) else {
                    return try PreparedListener(opening: listener)
                }
                return try PreparedListener(listener, taking: rest.remove(at: index))
            } catch {
                throw ListenFailure(listener: listener, cause: error)
            }
        }
    }
}

extension GatewayListener {
    fileprivate func mayTake(_ passed: PassedListener) -> Bool {
        switch self {
        case .inherited: return false
        // Without its lock, the path belongs to a service manager.
        case .unix where passed.lock == nil: return false
        case .unix, .address:
            let text = "\(place)"
            return text == passed.configured || text == passed.address
        }
    }
}

extension ListenAddress {
    /// Returns a socket that is bound to the address, and does not listen.
    ///
    /// - Throws: the system's error if the address cannot be used, for example because another
    ///   process uses it.
    func boundSocket() throws -> OpenDescriptor {
        let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        #if canImport(Glibc)
            let stream = CInt(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        let number = socket(CInt(address.protocol.rawValue), stream, 0)
        guard number >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        let descriptor = OpenDescriptor(owning: number)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        // A port that the system selects must not belong to another process.
        var isReused: CInt = port == 0 ? 0 : 1
        guard
            setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<CInt>.size)) == 0,
            address.withSockAddr({ bind(number, $0, socklen_t($1)) }) == 0
        else { throw IOError(errnoCode: errno, reason: "bind") }
        return descriptor
    }
}
