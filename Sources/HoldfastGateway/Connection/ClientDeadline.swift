import EventLoops
import NIOCore

/// The deadline for a client's next step. Used on the connection's event loop.
final class ClientDeadline {
    enum Step {
        /// A request's first byte.
        case request
        /// The rest of a request's head.
        case head
        case content
        case closing
    }

    // Converted to NIO's type once, because every request needs these times.
    private let request, head, content, closing: TimeAmount
    private let deadline = Deadline()
    /// The step that must happen before the deadline.
    private(set) var awaited: Step?

    init(_ timeouts: GatewayConfiguration.Timeouts) {
        request = timeouts.request.timeAmount
        head = timeouts.head.timeAmount
        content = timeouts.content.timeAmount
        closing = timeouts.closing.timeAmount
    }

    /// Sets the action for a missed deadline. Call it before ``begin(_:within:on:)``; ``release()``
    /// releases the action.
    func whenPassed(_ action: @escaping (Step) -> Void) {
        deadline.whenPassed { [unowned self] in if let awaited { action(awaited) } }
    }

    /// Starts the deadline for a step.
    ///
    /// - Parameter limit: a time that applies instead of the step's own if it is shorter.
    func begin(_ step: Step, within limit: TimeAmount? = nil, on eventLoop: any EventLoop) {
        awaited = step
        let time =
            switch step {
            case .request: request
            case .head: head
            case .content: content
            case .closing: closing
            }
        deadline.set(.now() + min(time, limit ?? time), on: eventLoop)
    }

    /// Stops the deadline, because the step has happened or is no longer expected.
    func stop() {
        deadline.stop()
        awaited = nil
    }

    /// Releases everything after the connection has ended.
    func release() {
        awaited = nil
        deadline.release()
    }
}
