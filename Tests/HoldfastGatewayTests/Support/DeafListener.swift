import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A port of 127.0.0.1 to which no connection comes about, and none is refused: its queue is full,
/// and no program accepts. A server whose machine is gone looks like that.
final class DeafListener: Sendable {
    private let descriptors: [CInt]
    let port: Int

    init() throws {
        func makeSocket() -> CInt {
            #if canImport(Darwin)
                let kind = SOCK_STREAM
            #else
                let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
            #endif
            return socket(AF_INET, kind, 0)
        }
        let listener = makeSocket()
        let any = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
        any.withSockAddr { _ = bind(listener, $0, socklen_t($1)) }
        var place = [UInt8](repeating: 0, count: 128)
        var size = socklen_t(place.count)
        place.withUnsafeMutableBytes {
            _ = getsockname(listener, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
        }
        // Behind the family, in the order of the network.
        port = Int(place[2]) << 8 | Int(place[3])
        listen(listener, 0)
        let own = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        var waiting: [CInt] = []
        // The queue takes one or two; the others wait forever.
        for _ in 0..<4 {
            let descriptor = makeSocket()
            own.withSockAddr { _ = connect(descriptor, $0, socklen_t($1)) }
            waiting.append(descriptor)
        }
        descriptors = [listener] + waiting
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
