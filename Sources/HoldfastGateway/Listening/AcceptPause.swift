import Logging
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Pauses a listener when the system has no resources for another connection.
///
/// The connection that could not be accepted stays in the system's queue, so the listener remains
/// readable. Its loop would retry immediately, and do nothing else. Only `autoRead` stops that. A
/// channel whose read failed still has that read pending, so a handler that delays the next `read`,
/// such as NIO's `AcceptBackoffHandler`, has no effect.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    /// Long compared with one attempt, and short for a waiting client.
    private static let pause = TimeAmount.milliseconds(100)
    /// The time between two warnings of one listener.
    private static let silence = TimeAmount.minutes(1)

    private let logger: Logger
    private var nextWarning = NIODeadline.uptimeNanoseconds(0)

    init(logger: Logger) {
        self.logger = logger
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // With these codes, the next attempt would also fail. A connection that its client closed
        // (`ECONNABORTED`) is gone.
        if let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) {
            pauseReading(context.channel)
            warn(of: error)
        }
        context.fireErrorCaught(error)
    }

    private func pauseReading(_ channel: any Channel) {
        // It fails for a closed channel, which no longer reads anyway.
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
