import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A port of 127.0.0.1 that is bound and never listened on, so that connections to it are refused
/// for as long as this lives.
final class PortHolder: Sendable {
    private let descriptor: CInt

    init(port: Int) {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        #endif
        descriptor = socket(AF_INET, kind, 0)
        var yes: CInt = 1
        // Earlier connections may still be in TIME_WAIT.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        let address = try? SocketAddress(ipAddress: "127.0.0.1", port: port)
        _ = address?.withSockAddr { bind(descriptor, $0, socklen_t($1)) }
    }

    deinit { close(descriptor) }
}
