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
    /// The limit that was set last.
    private(set) var last: OriginTimeLimit
    /// See ``OriginRequest/headLimit``.
    private var headLimit: OriginTimeLimit?
    /// The time by which the head of a request without content must arrive. It counts from the
    /// start of the call.
    private var earlyHeadEnd: NIODeadline?
    /// The time by which the head must arrive, while that limit runs.
    private var headEnd: NIODeadline?

    init(_ configuration: OriginTransport.Configuration, on eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        times = OriginTimes(configuration)
        last = OriginTimeLimit(time: times.idle, source: .setting("timeouts.idle"))
        closing = configuration.closingTimeout.timeAmount
    }

    func whenPassed(_ action: @escaping () -> Void) { deadline.whenPassed(action) }

    /// Prepares the limits of an exchange. None runs yet.
    mutating func prepare(for request: OriginRequest) {
        // The limits may have changed since the connection was opened.
        if let times = request.times { self.times = times }
        headLimit = request.headLimit
        earlyHeadEnd = request.body == nil ? request.connectEnd : nil
        headEnd = nil
    }

    mutating func begin(_ running: OriginWait.Running) {
        switch running {
        case .taking: set(times.send, "timeouts.send")
        case .head:
            headEnd = earlyHeadEnd ?? headLimit.map { .now() + $0.time }
            repeatHeadLimit()
        case .content: set(times.read, "timeouts.receive")
        }
    }

    /// Restarts the time to the first byte, within the time for the head.
    mutating func repeatHeadLimit() {
        let firstByteEnd = NIODeadline.now() + times.firstByte
        if let headEnd, let headLimit, headEnd < firstByteEnd {
            last = headLimit
            deadline.set(headEnd, on: eventLoop)
        } else {
            last = OriginTimeLimit(time: times.firstByte, source: .setting("timeouts.first-byte"))
            deadline.set(firstByteEnd, on: eventLoop)
        }
    }

    /// Starts the time in which an idle connection must get its next request.
    mutating func beginIdle() { set(times.idle, "timeouts.idle") }

    /// Starts the time in which the origin must close the connection.
    mutating func beginClosing() { set(min(times.idle, closing), "timeouts.idle") }

    func stop() { deadline.stop() }

    func release() { deadline.release() }

    private mutating func set(_ time: TimeAmount, _ setting: String) {
        last = OriginTimeLimit(time: time, source: .setting(setting))
        deadline.set(.now() + time, on: eventLoop)
    }
}
