import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The user behind a connection by a Unix socket, as the system knows it.
enum PeerIdentity {
    /// `struct ucred`, which the system's headers show only to programs with `_GNU_SOURCE`. unix(7)
    private struct Credentials: Sendable {
        var process: Int32 = 0
        var user: UInt32 = 0
        var group: UInt32 = 0
    }

    /// `uid 1000`; `local` where the system does not tell.
    static func name(of channel: any Channel) async -> String {
        #if canImport(Glibc) || canImport(Musl)
            guard let options = channel as? any SocketOptionProvider else { return "local" }
            let credentials: EventLoopFuture<Credentials> = options.unsafeGetSocketOption(
                level: .init(rawValue: SOL_SOCKET),
                name: .init(rawValue: SO_PEERCRED)
            )
            return await (try? credentials.get()).map { "uid \($0.user)" } ?? "local"
        #else
            return "local"
        #endif
    }
}
