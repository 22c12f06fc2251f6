import EventLoops
import NIOCore

/// The time that a peer has to open its connection: to send the PROXY protocol header, or to
/// complete the TLS handshake. It is shorter once the gateway drains.
///
/// Used on the channel's event loop.
struct OpeningTime {
    private let time: TimeAmount
    private let lateTime: TimeAmount
    private let deadline = Deadline()
    private var end = NIODeadline.distantFuture
    private(set) var isDraining = false

    /// - Parameters:
    ///   - time: the time that the peer has, unless the gateway drains.
    ///   - timeouts: contains the time that applies once the gateway begins to drain.
    init(_ time: Duration, _ timeouts: GatewayConfiguration.Timeouts) {
        self.time = time.timeAmount
        lateTime = timeouts.lateRequest.timeAmount
    }

    func whenPassed(_ body: @escaping () -> Void) { deadline.whenPassed(body) }

    /// Starts the deadline, because the channel is active.
    mutating func begin(_ context: ChannelHandlerContext) { allow(isDraining ? min(time, lateTime) : time, context) }

    mutating func drain(_ context: ChannelHandlerContext) {
        isDraining = true
        // If the channel is not active yet, the deadline starts later.
        if context.channel.isActive { allow(lateTime, context) }
    }

    func release() { deadline.release() }

    private mutating func allow(_ time: TimeAmount, _ context: ChannelHandlerContext) {
        end = min(end, .now() + time)
        deadline.set(end, on: context.eventLoop)
    }
}
