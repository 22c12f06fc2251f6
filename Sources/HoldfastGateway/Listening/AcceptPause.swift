import Logging
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Makes a listener pause if the system has no resources left for another connection.
///
/// The connection that could not be accepted stays in the system's queue, so that the listener
/// remains readable: its loop would try again at once, and do nothing else. Only `autoRead` ends
/// that. A channel whose read failed still has that read pending, so a handler that holds back the
/// next `read`, as NIO's `AcceptBackoffHandler` does, changes nothing.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    /// Long beside one try, and short for a client that waits.
    private static let pause = TimeAmount.milliseconds(100)
    /// Between two warnings of one listener.
    private static let silence = TimeAmount.minutes(1)

    private let logger: Logger
    private var nextWarning = NIODeadline.uptimeNanoseconds(0)

    init(logger: Logger) {
        self.logger = logger
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // With these codes the next try would fail, too. A connection that its client ended
        // (`ECONNABORTED`) is gone.
        if let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) {
            pauseReading(context.channel)
            warn(of: error)
        }
        context.fireErrorCaught(error)
    }

    private func pauseReading(_ channel: any Channel) {
        // It fails for a channel that is closed, which reads no more anyway.
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        channel.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }

    private func warn(of error: IOError) {
        let now = NIODeadline.now()
        guard now >= nextWarning else { return }
        nextWarning = now + Self.silence
        logger.warning(
            "Cannot accept connections: new clients wait until others disconnect; raise the limit of open files (ulimit -n, LimitNOFILE)",
            metadata: ["error": "\(error)"]
        )
    }
}
