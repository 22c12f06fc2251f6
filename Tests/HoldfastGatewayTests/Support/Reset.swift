import NIOCore
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Channel {
    /// Closes so that the peer sees a reset and no clean end. With TLS, the peer sees the end of
    /// TCP without a close alert.
    ///
    /// With TLS it must be called on the event loop.
    func reset() {
        if eventLoop.inEventLoop,
            let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        {
            tls.close(promise: nil)
        } else if let socket = self as? any SocketOptionProvider {
            socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in self.close(promise: nil) }
        } else {
            close(promise: nil)
        }
    }
}
