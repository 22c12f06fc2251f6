import LibC
import Logging
import NIOCore

/// Pauses a listener when the kernel has no resources for another connection, and while another
/// process takes over the listener.
///
/// The connection that could not be accepted stays in the kernel's queue, so the listener remains
/// readable. Without a pause, its loop would only retry. Turning off `autoRead` is the only way to
/// pause: a channel whose read failed still has that read pending, so a handler that delays the
/// next `read`, such as NIO's `AcceptBackoffHandler`, has no effect.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    /// The length of a pause: long compared with one attempt, but short for a waiting client.
    private static let pause = TimeAmount.milliseconds(100)
    /// The minimum time between two warnings of one listener.
    private static let silence = TimeAmount.minutes(1)

    /// Stops a listener or starts it again, as a user event. The connections that wait stay in the
    /// kernel's queue.
    struct Change: Sendable {
        let isAccepting: Bool
    }

    private let logger: Logger
    private var nextWarning = NIODeadline.uptimeNanoseconds(0)
    /// Whether a ``Change`` has stopped the listener. Then no pause may end that.
    private var isStopped = false

    init(logger: Logger) {
        self.logger = logger
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // With these codes, the next attempt would also fail. Other failures concern one
        // connection, for example one that its client closed (`ECONNABORTED`).
        if let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) {
            pauseReading(context.channel)
            warn(of: error)
        }
        context.fireErrorCaught(error)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let change = event as? Change else { return context.fireUserInboundEventTriggered(event) }
        isStopped = !change.isAccepting
        try? context.channel.syncOptions?.setOption(.autoRead, value: change.isAccepting)
    }

    private func pauseReading(_ channel: any Channel) {
        // This fails only for a closed channel, which no longer reads anyway.
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        channel.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { [self] in
            guard !isStopped else { return }
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
