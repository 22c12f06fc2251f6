package import NIOCore

/// A deadline that moves often and is rarely missed. Used on one event loop.
///
/// Moving it needs no new timer. When the current timer fires, it checks how much time is left.
package final class Deadline {
    private var end: NIODeadline?
    private var timer: Scheduled<Void>?
    private var timerEnd = NIODeadline.distantFuture
    private var action: (() -> Void)?

    package init() {}

    /// Sets the action for a missed deadline. Call it before ``set(_:on:)``; ``release()`` releases
    /// the action.
    package func whenPassed(_ action: @escaping () -> Void) { self.action = action }

    /// Sets or moves the deadline.
    package func set(_ end: NIODeadline, on eventLoop: any EventLoop) {
        self.end = end
        if timer != nil, timerEnd <= end { return }
        timer?.cancel()
        schedule(end, on: eventLoop)
    }

    /// Ends the deadline, because it was met. The timer stays for the next deadline.
    package func stop() { end = nil }

    /// Releases everything.
    package func release() {
        end = nil
        action = nil
        timer.take()?.cancel()
    }

    private func schedule(_ end: NIODeadline, on eventLoop: any EventLoop) {
        timerEnd = end
        timer = eventLoop.assumeIsolated().scheduleTask(deadline: end) { self.check(eventLoop) }
    }

    private func check(_ eventLoop: any EventLoop) {
        timer = nil
        guard let end else { return }
        if end > .now() { return schedule(end, on: eventLoop) }
        self.end = nil
        action?()
    }
}
