package import LibC

/// The address of a Unix socket.
package struct UnixAddress: Sendable {
    /// The maximum length of a path in bytes, leaving room for its terminator.
    package static let maximumPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    private let path: [UInt8]

    /// - Returns: `nil` if the path is too long.
    package init?(_ path: String) {
        guard path.utf8.count <= Self.maximumPath else { return nil }
        self.path = Array(path.utf8)
    }

    /// Calls a system function with the address.
    package func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Opens a Unix socket without an address.
    ///
    /// - Returns: the descriptor, or a negative number with the reason in `errno`.
    package static func open() -> CInt { socket(AF_UNIX, stream, 0) }

    /// Opens two Unix sockets that are connected to each other. Child processes inherit neither.
    ///
    /// - Returns: `nil`, with the reason in `errno`, if the process has too many open files.
    package static func pair() -> (OpenDescriptor, OpenDescriptor)? {
        var ends: (CInt, CInt) = (-1, -1)
        let code = withUnsafeMutablePointer(to: &ends) { ends in
            ends.withMemoryRebound(to: CInt.self, capacity: 2) { socketpair(AF_UNIX, stream, 0, $0) }
        }
        guard code == 0 else { return nil }
        for end in [ends.0, ends.1] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (OpenDescriptor(owning: ends.0), OpenDescriptor(owning: ends.1))
    }

    private static var stream: CInt {
        #if canImport(Glibc)
            return CInt(SOCK_STREAM.rawValue)
        #else
            return SOCK_STREAM
        #endif
    }

    /// Opens a Unix socket that listens at a path.
    ///
    /// - Returns: the descriptor, or a negative number with the reason in `errno`.
    package static func listen(at path: String) -> CInt {
        guard let address = UnixAddress(path) else {
            errno = ENAMETOOLONG
            return -1
        }
        let descriptor = open()
        guard descriptor >= 0 else { return descriptor }
        // Child processes must not inherit the descriptor.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        guard address.withPointer({ bind(descriptor, $0, $1) }) == 0, systemListen(descriptor, SOMAXCONN) == 0 else {
            let code = errno
            close(descriptor)
            errno = code
            return -1
        }
        return descriptor
    }
}

/// Calls the system's `listen`, which has the same name as a function above.
private func systemListen(_ descriptor: CInt, _ backlog: CInt) -> CInt { listen(descriptor, backlog) }
