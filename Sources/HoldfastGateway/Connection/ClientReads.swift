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

    private let times: ClientTimes
    private let deadline = Deadline()
    private var context: ChannelHandlerContext?
    /// `nil` before the connection opens and after it ends.
    private var requests: RequestSequence?
    /// The step that must happen before the deadline.
    private(set) var awaited: Step?
    /// Whether the gateway shuts down, so that a first request gets less time.
    private var isDraining = false
    /// Whether the channel was asked to read and has not delivered bytes since.
    private var isWanted = false
    /// Whether the rest of a head is expected once the current delivery has ended.
    private var isHeadAwaited = false
    /// The time when the bytes arrived that the channel is delivering; `nil` between deliveries.
    private var readAt: NIODeadline?

    init(_ times: ClientTimes) {
        self.times = times
    }

    /// - Parameter requests: told about a missed deadline, until ``release()``.
    func open(_ context: ChannelHandlerContext, _ requests: RequestSequence) {
        (self.context, self.requests) = (context, requests)
        deadline.whenPassed { [unowned self] in if let awaited { self.requests?.timeOut(awaited) } }
    }

    /// Releases everything after the connection has ended.
    func release() {
        awaited = nil
        isHeadAwaited = false
        deadline.release()
        (context, requests) = (nil, nil)
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

    func endDelivery() {
        readAt = nil
        guard isHeadAwaited else { return }
        isHeadAwaited = false
        if awaited != .head { expect(.head) }
    }

    /// Asks the channel to read, unless a read is already pending.
    func read() {
        guard !isWanted else { return }
        isWanted = true
        context?.read()
    }

    /// Asks the channel for bytes of a request. A head has one deadline, however many pieces it
    /// arrives in.
    func read(_ part: Step) {
        if part == .head, isDelivering {
            // The rest may be in the same delivery: a connection's first buffer is short. A
            // deadline that is earlier than the one before needs another timer, and to cancel a
            // timer, the loop searches all of them.
            isHeadAwaited = true
        } else if awaited != part {
            expect(part)
        }
        read()
    }

    // MARK: Time

    /// Starts the deadline for a step.
    ///
    /// - Parameter limit: a time that applies instead of the step's own if it is shorter.
    func expect(_ step: Step, within limit: TimeAmount? = nil) {
        guard let context else { return }
        awaited = step
        isHeadAwaited = false
        let time =
            switch step {
            case .request: isDraining ? min(times.request, times.lateRequest) : times.request
            case .head: times.head
            case .content: times.content
            case .closing: times.closing
            }
        deadline.set(.now() + min(time, limit ?? time), on: context.eventLoop)
    }

    /// Stops the deadline, because the step has happened or is no longer expected.
    func stop() {
        deadline.stop()
        awaited = nil
        isHeadAwaited = false
    }

    /// Gives a first request less time, because the gateway shuts down. If the channel is not
    /// active yet, its deadline starts later.
    func drain() {
        isDraining = true
        if awaited == .request { expect(.request) }
    }
}
