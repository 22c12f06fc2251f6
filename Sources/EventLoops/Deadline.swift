package import NIOCore

/// A deadline that moves often and is rarely missed. Used on one event loop.
///
/// Moving it needs no new timer. When the current timer fires, it checks how much time is left.
///
/// The timer is a callback and not a task: a task needs a promise and four closures, 290 bytes for
/// each idle connection.
package final class Deadline: NIOScheduledCallbackHandler {
    private var end: NIODeadline?
    private var timer: NIOScheduledCallback?
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
        // Fails only if the loop has ended.
        timer = try? eventLoop.assumeIsolated().scheduleCallback(at: end, handler: self)
    }

    package func handleScheduledCallback(eventLoop: some EventLoop) {
        timer = nil
        guard let end else { return }
        if end > .now() { return schedule(end, on: eventLoop) }
        self.end = nil
        action?()
    }
}
