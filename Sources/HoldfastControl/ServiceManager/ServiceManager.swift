import Foundation

/// The service manager that started this process, such as systemd for units with `Type=notify`. It
/// receives the process's state through the protocol of `sd_notify(3)`.
///
/// Notifications are sent only if `NOTIFY_SOCKET` contains a socket's address. A notification that
/// cannot be sent is dropped.
package struct ServiceManager: Sendable {
    /// A state of the process.
    package enum Notice: Sendable, Hashable {
        /// The gateway accepts connections, with the latest configuration.
        case ready
        case reloading
        case stopping
        /// Every event loop responds. ``Watchdog`` sends this notice.
        case alive
        /// A one-line status for people. ``ServiceStatus`` sends this notice.
        case status(String)
    }

    private let path: String?

    package init(environment: [String: String]) {
        path = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    }

    /// Whether there is a service manager.
    package var isPresent: Bool { path != nil }

    /// Sends a notice.
    ///
    /// - Returns: whether the notice was sent.
    @discardableResult
    package func notify(_ notice: Notice) -> Bool {
        switch notice {
        case .ready: return send("READY=1")
        case .reloading:
            // systemd uses this time to match the message with the READY=1 that follows.
            let instant = monotonicNanoseconds() / 1000
            return send("RELOADING=1\nMONOTONIC_USEC=\(instant)")
        case .stopping: return send("STOPPING=1")
        // These messages repeat, so do not block if the manager does not read them.
        case .alive: return send("WATCHDOG=1", CInt(MSG_DONTWAIT))
        case .status(let text): return send("STATUS=\(text)", CInt(MSG_DONTWAIT))
        }
    }

    private func send(_ text: String, _ flags: CInt = 0) -> Bool {
        guard let path else { return false }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // An abstract socket name begins with NUL and has no terminator.
        var name = Array(path.utf8)
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard name.count < capacity else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size - capacity + name.count)
        #if canImport(Glibc)
            let kind = Int32(SOCK_DGRAM.rawValue)
        #else
            let kind = SOCK_DGRAM
        #endif
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, flags, $0, length) == bytes.count
            }
        }
    }
}

/// Returns the time of `CLOCK_MONOTONIC`, in nanoseconds.
private func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
