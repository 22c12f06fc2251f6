import LibC

/// Reserves a port of 127.0.0.1, so that no other test gets it while this object exists.
///
/// Its socket is bound but never listens, so connections to the port are refused. A server can
/// listen on the same port (both sockets set `SO_REUSEADDR`). After the server stops, connections
/// are refused again. Without the reservation, another test's server could get the port and
/// respond. The system never assigns a reserved port to a program that asks for any free port.
package final class HeldPort: Sendable {
    /// The port.
    package let port: Int
    private let descriptor: CInt

    /// Reserves a free port.
    ///
    /// - Throws: ``Failure`` if the system has no free port.
    package init() throws(Failure) {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        #endif
        let descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        var yes: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound else {
            let code = errno
            close(descriptor)
            throw Failure(code: code)
        }
        port = Int(in_port_t(bigEndian: address.sin_port))
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// The error if no port could be reserved.
    package struct Failure: Error {
        /// The system's error number.
        package let code: CInt
    }
}
