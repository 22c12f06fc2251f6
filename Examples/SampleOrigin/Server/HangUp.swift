import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The connection was closed on purpose; the framework cannot send a response.
struct HungUp: Error {}

/// Closes the connection instead of responding, in order (FIN) or by a reset (RST).
///
/// - Throws: Always ``HungUp``, so that the framework, which responds to errors, finds the
///   connection closed.
func hangUp(_ channel: any Channel, reset: Bool) async throws -> Never {
    if reset, let options = channel as? any SocketOptionProvider {
        // Closing with a linger time of zero sends RST: the client sees "connection reset by peer".
        try? await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
    }
    try? await channel.close(mode: .all)
    throw HungUp()
}
