#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A port of 127.0.0.1 that no other test gets for as long as this lives.
///
/// Its socket is bound and never listens, so connections to the port are refused. A server may
/// listen beside it (both have `SO_REUSEADDR`), and when the server stops, connections are refused
/// again. Without it, a port that was given back could become another test's server, which would
/// respond. The system gives a held port to no one who asks for any free port.
package final class HeldPort: Sendable {
    /// The port.
    package let port: Int
    private let descriptor: CInt

    /// Holds a free port.
    ///
    /// - Throws: ``Failure`` if the system has none.
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

    /// No port could be held.
    package struct Failure: Error {
        /// The system's number of the error.
        package let code: CInt
    }
}
