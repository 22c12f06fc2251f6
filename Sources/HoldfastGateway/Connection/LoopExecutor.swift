import NIOCore

/// Runs tasks on an event loop, so that an exchange whose origin is served by the same loop changes no thread.
///
/// What comes while the loop is at work is done when the loop's present round is over, in the order in which it came.
final class LoopExecutor: TaskExecutor {
    private struct Queue {
        var jobs: [UnownedJob] = []
        var isScheduled = false
    }

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
        eventLoop.execute { self.runJobs() }
    }

    /// Runs what there is, and what that brings about; after so many the loop has its turn.
    private func runJobs() {
        let executor = asUnownedTaskExecutor()
        var index = 0
        while index < queue.value.jobs.count, index < 256 {
            queue.value.jobs[index].runSynchronously(on: executor)
            index += 1
        }
        if index == queue.value.jobs.count {
            queue.value.jobs.removeAll(keepingCapacity: index < 256)
            queue.value.isScheduled = false
        } else {
            queue.value.jobs.removeFirst(index)
            eventLoop.execute { self.runJobs() }
        }
    }
}
