import EventLoops
import HTTPCache
import NIOCore

/// The time limits on a connection to an origin: the limits of an exchange, which ``OriginWait``
/// starts and stops, and the limits between exchanges. At most one of them runs at a time. Used
/// only on the connection's event loop.
struct OriginTimeLimits {
    private let eventLoop: any EventLoop
    private let deadline = Deadline()
    private var times: OriginTimes
    /// The time that an origin gets to close a connection after announcing the close.
    private let closing: TimeAmount
    /// See ``OriginRequest/headTime``.
    private var headTime: TimeAmount?
    /// The time by which the head of a request without content must arrive. It counts from the
    /// start of the call.
    private var earlyHeadEnd: NIODeadline?
    /// The time by which the head must arrive, while that limit runs.
    private var headEnd: NIODeadline?

    init(_ configuration: OriginTransport.Configuration, on eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        times = OriginTimes(configuration)
        closing = configuration.closingTimeout.timeAmount
    }

    func whenPassed(_ action: @escaping () -> Void) { deadline.whenPassed(action) }

    /// Prepares the limits of an exchange. None runs yet.
    mutating func prepare(for request: OriginRequest) {
        // The limits may have changed since the connection was opened.
        if let times = request.times { self.times = times }
        headTime = request.headTime
        earlyHeadEnd = request.body == nil ? request.connectEnd : nil
        headEnd = nil
    }

    mutating func begin(_ running: OriginWait.Running) {
        switch running {
        case .taking: set(times.send)
        case .head:
            headEnd = earlyHeadEnd ?? headTime.map { .now() + $0 }
            repeatHeadLimit()
        case .content: set(times.read)
        }
    }

    /// Restarts the time to the first byte, within the time for the head.
    func repeatHeadLimit() {
        deadline.set(min(.now() + times.firstByte, headEnd ?? .distantFuture), on: eventLoop)
    }

    /// Starts the time in which an idle connection must get its next request.
    func beginIdle() { set(times.idle) }

    /// Starts the time in which the origin must close the connection.
    func beginClosing() { set(min(times.idle, closing)) }

    func stop() { deadline.stop() }

    func release() { deadline.release() }

    private func set(_ time: TimeAmount) { deadline.set(.now() + time, on: eventLoop) }
}
