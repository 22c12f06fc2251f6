import LibC
import NIOCore

/// Identifies the user at the other end of a Unix socket, as the kernel reports it.
enum PeerIdentity {
    /// The layout of `struct ucred`, which system headers declare only with `_GNU_SOURCE`. unix(7)
    private struct Credentials: Sendable {
        var process: Int32 = 0
        var user: UInt32 = 0
        var group: UInt32 = 0
    }

    /// Returns the user as `uid 1000`, or `local` if the kernel does not report the user.
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
