import EventLoops
import NIOCore

/// Reads from a client's channel, and enforces the time that the client has for its next step. Used
/// on the connection's event loop.
final class ClientReads {
    enum Step {
        /// A request's first byte.
        case request
        /// The rest of a request's head.
        case head
        case content
        case closing
    }

    // Converted to NIO's type once, because every request needs these times.
    private let request, lateRequest, head, content, closing: TimeAmount
    private let deadline = Deadline()
    private var context: ChannelHandlerContext?
    /// The step that must happen before the deadline.
    private(set) var awaited: Step?
    /// Whether the gateway shuts down, so that a first request gets less time.
    private var isDraining = false
    /// Whether the channel was asked to read and has not delivered bytes since.
    private var isWanted = false
    /// The time when the bytes arrived that the channel is delivering; `nil` between deliveries.
    private var readAt: NIODeadline?

    init(_ timeouts: GatewayConfiguration.Timeouts) {
        request = timeouts.request.timeAmount
        lateRequest = timeouts.lateRequest.timeAmount
        head = timeouts.head.timeAmount
        content = timeouts.content.timeAmount
        closing = timeouts.closing.timeAmount
    }

    /// - Parameter action: the action for a missed deadline. ``release()`` releases it.
    func open(_ context: ChannelHandlerContext, whenLate action: @escaping (Step) -> Void) {
        self.context = context
        deadline.whenPassed { [unowned self] in if let awaited { action(awaited) } }
    }

    /// Releases everything after the connection has ended.
    func release() {
        awaited = nil
        deadline.release()
        context = nil
    }

    // MARK: Bytes

    /// Whether the channel is delivering bytes.
    var isDelivering: Bool { readAt != nil }

    /// The arrival time of the bytes being delivered, or else the current time.
    var now: NIODeadline { readAt ?? .now() }

    func beginDelivery() {
        isWanted = false
        readAt = .now()
    }

    func endDelivery() { readAt = nil }

    /// Asks the channel to read, unless a read is already pending.
    func read() {
        guard !isWanted else { return }
        isWanted = true
        context?.read()
    }

    /// Asks the channel for bytes of a request. A head has one deadline, however many pieces it
    /// arrives in.
    func read(_ part: Step) {
        if awaited != part { expect(part) }
        read()
    }

    // MARK: Time

    /// Starts the deadline for a step.
    ///
    /// - Parameter limit: a time that applies instead of the step's own if it is shorter.
    func expect(_ step: Step, within limit: TimeAmount? = nil) {
        guard let context else { return }
        awaited = step
        let time =
            switch step {
            case .request: isDraining ? min(request, lateRequest) : request
            case .head: head
            case .content: content
            case .closing: closing
            }
        deadline.set(.now() + min(time, limit ?? time), on: context.eventLoop)
    }

    /// Stops the deadline, because the step has happened or is no longer expected.
    func stop() {
        deadline.stop()
        awaited = nil
    }

    /// Gives a first request less time, because the gateway shuts down. If the channel is not
    /// active yet, its deadline starts later.
    func drain() {
        isDraining = true
        if awaited == .request { expect(.request) }
    }
}
