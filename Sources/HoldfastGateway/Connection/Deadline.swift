import NIOCore

/// A point in time by which something must have happened, moved often and reached seldom. Used on
/// one event loop alone.
///
/// Moving it costs no timer: the one that is there looks, when its time has come, how much time is
/// left by now.
final class Deadline {
    private var end: NIODeadline?
    private var timer: Scheduled<Void>?
    private var timerEnd = NIODeadline.distantFuture
    private var onPassing: (() -> Void)?

    /// What happens when it passes; to be set before the deadline, and let go of with
    /// ``release()``.
    func whenPassed(_ action: @escaping () -> Void) { onPassing = action }

    /// Sets or moves it.
    func set(_ end: NIODeadline, on eventLoop: any EventLoop) {
        self.end = end
        if timer != nil, timerEnd <= end { return }
        timer?.cancel()
        schedule(end, on: eventLoop)
    }

    /// It was met. The timer stays, for the next time.
    func stop() { end = nil }

    /// Lets go of everything.
    func release() {
        end = nil
        onPassing = nil
        timer.take()?.cancel()
    }

    private func schedule(_ end: NIODeadline, on eventLoop: any EventLoop) {
        timerEnd = end
        timer = eventLoop.assumeIsolated().scheduleTask(deadline: end) { self.looked(eventLoop) }
    }

    private func looked(_ eventLoop: any EventLoop) {
        timer = nil
        guard let end else { return }
        if end > .now() { return schedule(end, on: eventLoop) }
        self.end = nil
        onPassing?()
    }
}
