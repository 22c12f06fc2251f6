import NIOCore

/// A point in time by which something must have happened. It is moved often and passes seldom. It
/// is used on one event loop.
///
/// Moving it needs no new timer: when the present timer fires, it checks how much time is left by
/// then.
final class Deadline {
    private var end: NIODeadline?
    private var timer: Scheduled<Void>?
    private var timerEnd = NIODeadline.distantFuture
    private var action: (() -> Void)?

    /// Sets the action for a deadline that passes. Call it before ``set(_:on:)``; ``release()``
    /// releases the action.
    func whenPassed(_ action: @escaping () -> Void) { self.action = action }

    /// Sets or moves it.
    func set(_ end: NIODeadline, on eventLoop: any EventLoop) {
        self.end = end
        if timer != nil, timerEnd <= end { return }
        timer?.cancel()
        schedule(end, on: eventLoop)
    }

    /// Ends it, because it was met. The timer stays for the next one.
    func stop() { end = nil }

    /// Releases everything.
    func release() {
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
