import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The error for a connection that was closed on purpose. The framework cannot send a response.
struct HungUp: Error {}

/// Closes the connection instead of responding, either normally (FIN) or with a reset (RST).
///
/// - Throws: Always ``HungUp``. The framework then tries to respond to the error, but the
///   connection is closed.
func hangUp(_ channel: any Channel, reset: Bool) async throws -> Never {
    if reset, let options = channel as? any SocketOptionProvider {
        // Closing with a linger time of zero sends RST, so the client gets "connection reset by
        // peer".
        try? await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
    }
    try? await channel.close(mode: .all)
    throw HungUp()
}
