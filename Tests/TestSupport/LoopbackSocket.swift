import Foundation

/// TCP sockets of 127.0.0.1, for tests that need a connection without a library.
package enum LoopbackSocket {
    /// Returns a socket that listens on a free port, and its port.
    package static func listening(backlog: CInt) throws -> (descriptor: CInt, port: Int) {
        let descriptor = make()
        var place = address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, backlog) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else { throw TestFailure("listen: \(errno)") }
        return (descriptor, Int(in_port_t(bigEndian: place.sin_port)))
    }

    /// Returns a socket that is connected to a port; `nil`, and `errno`, if that fails.
    package static func connected(to port: Int) -> CInt? {
        let descriptor = make()
        if connects(descriptor, to: port) { return descriptor }
        let code = errno
        close(descriptor)
        errno = code
        return nil
    }

    /// Returns a socket that does not block, and that may still be connecting to a port.
    package static func connecting(to port: Int) -> CInt {
        let descriptor = make()
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        _ = connects(descriptor, to: port)
        return descriptor
    }

    private static func make() -> CInt {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        #endif
        return socket(AF_INET, kind, 0)
    }

    private static func connects(_ descriptor: CInt, to port: Int) -> Bool {
        var place = address(port: port)
        return withUnsafePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        return address
    }
}
