#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A port of 127.0.0.1 that is bound and never listened on, so that connections to it are refused for as long as this lives.
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
        // The connections that were may be in TIME_WAIT.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    deinit { close(descriptor) }
}
