import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Channel {
    /// Closes so that the other side sees a reset, and no end.
    func reset() {
        if let socket = self as? any SocketOptionProvider {
            socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in self.close(promise: nil) }
        } else {
            close(promise: nil)
        }
    }
}
