import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A connection that reads nothing, and stays when the peer closes its side. It ends when this is
/// released.
final class SilentClient: Sendable {
    private let descriptor: CInt

    /// - Parameter text: what is sent.
    init(port: Int, sending text: String) throws {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        #endif
        descriptor = socket(AF_INET, kind, 0)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        #if canImport(Glibc)
            let outcome = address.withSockAddr { Glibc.connect(descriptor, $0, socklen_t($1)) }
        #elseif canImport(Musl)
            let outcome = address.withSockAddr { Musl.connect(descriptor, $0, socklen_t($1)) }
        #else
            let outcome = address.withSockAddr { Darwin.connect(descriptor, $0, socklen_t($1)) }
        #endif
        guard outcome == 0 else { throw IOError(errnoCode: errno, reason: "connect") }
        _ = Array(text.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }

    deinit { close(descriptor) }
}
