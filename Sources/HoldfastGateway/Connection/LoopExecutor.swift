import NIOCore

/// Runs tasks on an event loop, so that an exchange whose origin is served by the same loop changes no thread.
///
/// What comes while the loop is at work is done when the loop's present round is over, in the order in which it came. A round does not get long by it:
/// exchanges come in numbers when an origin answers many at once, each of them costs as much as several hits, and a hit waits for the loop alone. So after a
/// moment of them the loop has its turn, looks at its sockets, and answers the hits that have come.
final class LoopExecutor: TaskExecutor {
    private struct Queue {
        var jobs = CircularBuffer<UnownedJob>()
        var isScheduled = false
    }

    /// How long jobs are run before the loop has its turn; the last of them may go beyond.
    static let turn = TimeAmount.microseconds(50)
    /// What is due is run before the loop looks at its sockets. So what is left is due a moment later: longer than the loop takes to see that nothing else is due.
    private static let pause = TimeAmount.microseconds(10)

    private let eventLoop: any EventLoop
    private let queue: NIOLoopBoundBox<Queue>

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        queue = .makeBoxSendingValue(Queue(), eventLoop: eventLoop)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard eventLoop.inEventLoop else {
            return eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
        queue.value.jobs.append(job)
        guard !queue.value.isScheduled else { return }
        queue.value.isScheduled = true
        eventLoop.execute { self.runJobs(for: Self.turn) }
    }

    /// Runs what there is, and what that brings about, for so long.
    private func runJobs(for turn: TimeAmount) {
        let executor = asUnownedTaskExecutor()
        let end = NIODeadline.now() + turn
        while let job = queue.value.jobs.popFirst() {
            job.runSynchronously(on: executor)
            if NIODeadline.now() >= end { break }
        }
        guard !queue.value.jobs.isEmpty else { return queue.value.isScheduled = false }
        do {
            _ = try eventLoop.scheduleCallback(in: Self.pause, handler: self)
        } catch {
            // The loop takes nothing any more, and this is its last round.
            runJobs(for: .hours(1))
        }
    }
}

extension LoopExecutor: NIOScheduledCallbackHandler {
    func handleScheduledCallback(eventLoop: some EventLoop) { runJobs(for: Self.turn) }

    /// The loop is shutting down: its last round is for everything that is left.
    func didCancelScheduledCallback(eventLoop: some EventLoop) { runJobs(for: .hours(1)) }
}
