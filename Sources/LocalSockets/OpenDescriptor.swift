import LibC

/// A file descriptor that is closed when nothing uses this object any more.
package final class OpenDescriptor: Sendable {
    package let number: CInt

    /// Takes ownership of a descriptor.
    package init(owning number: CInt) { self.number = number }

    /// Duplicates a descriptor. Child processes do not inherit the duplicate.
    ///
    /// - Returns: `nil` if the process has too many open files.
    package convenience init?(copyOf number: CInt) {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        self.init(owning: copy)
    }

    deinit { close(number) }
}

/// A listener's sockets, which one process passes to another.
package struct PassedListener: Sendable {
    /// The address as the configuration names it, such as `localhost:0`.
    package let configured: String
    /// The address where clients connect, such as `127.0.0.1:40961`.
    package let address: String
    /// The listening sockets. Connections may wait in the queue of each of them.
    package let sockets: [OpenDescriptor]
    /// The lock on the path of a Unix socket: see ``SocketClaim``.
    package let lock: OpenDescriptor?

    package init(configured: String, address: String, sockets: [OpenDescriptor], lock: OpenDescriptor? = nil) {
        self.configured = configured
        self.address = address
        self.sockets = sockets
        self.lock = lock
    }
}
