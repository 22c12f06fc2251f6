#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reserves a free port for an origin while the origin does not listen on it.
///
/// A stopped origin must refuse connections, and must be able to restart on its port. Meanwhile,
/// another origin in a parallel test run could be assigned the port and respond instead. So a
/// socket is bound to the port but never listens: connections are refused, and the port is not
/// assigned to other programs. Both sockets have `SO_REUSEADDR`, so the origin can still listen on
/// the port. This works on Linux, for IPv4 literals. On other systems the port is not reserved, and
/// is only very unlikely to be assigned.
struct PortReservation: ~Copyable {
    /// The reserved port.
    let port: Int
    private let descriptor: CInt

    /// Reserves a free port; `nil` if this system does not support it.
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
