#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Keeps a free port for an origin while nothing listens on it.
///
/// A stopped origin must refuse connections and must be able to come back on its port. In between,
/// another origin of a parallel test run could get this port as its free one, and respond in its
/// place. So a socket is bound to the port and never listens: connections are refused, and the port
/// is not assigned to others. Both sockets have `SO_REUSEADDR`, so the origin can listen beside it.
/// This works on Linux, for IPv4 literals. Elsewhere nothing is reserved, and the port is merely
/// very unlikely to be assigned.
struct PortReservation: ~Copyable {
    /// The port that was reserved.
    let port: Int
    private let descriptor: CInt

    /// Reserves a free port; `nil` when that is not possible here.
    init?(host: String) {
        #if os(Linux)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return nil }
            let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
            let descriptor = socket(AF_INET, kind, 0)
            guard descriptor >= 0 else { return nil }
            var yes: CInt = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
            guard let port = bindSocket(descriptor, to: &address) else {
                close(descriptor)
                return nil
            }
            self.port = port
            self.descriptor = descriptor
        #else
            return nil
        #endif
    }

    deinit {
        close(descriptor)
    }
}

#if os(Linux)
    /// Binds the socket and returns its port.
    private func bindSocket(_ descriptor: CInt, to address: inout sockaddr_in) -> Int? {
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        return isBound ? Int(in_port_t(bigEndian: address.sin_port)) : nil
    }
#endif
