import NIOCore

/// Runs tasks and other work on an event loop, so that an exchange whose origin is served by the
/// same loop changes no thread.
///
/// What comes while the loop is at work is done when the loop's present round is over, in the order
/// in which it came. In slices, so that hits, which the loop answers as they come, do not wait for
/// all of it: short ones where it has answered some lately, and longer ones, which cost less, where
/// it has not.
final class LoopExecutor: TaskExecutor {
    private enum Job {
        case task(UnownedJob)
        case work(() -> Void)
    }

    private struct Queue {
        var jobs = CircularBuffer<Job>()
        var isScheduled = false
        /// Slices that are to be short still.
        var shortSlices = 0
    }

    /// How long jobs run at least before the loop looks at its sockets, and how many: looking costs
    /// as much as some of them, for what the processor's caches lose by it.
    private static let slice = TimeAmount.microseconds(100)
    private static let (shortSlice, longSlice) = (16, 256)
    /// Slices that are short after a hit.
    private static let slicesAfterHit = 256

    let eventLoop: any EventLoop
    private let queue: NIOLoopBoundBox<Queue>
    /// What the loop is made to look by; without one, all jobs run in one round.
    let bell: NIOLoopBoundBox<LoopBell?>

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        queue = .makeBoxSendingValue(Queue(), eventLoop: eventLoop)
        bell = .makeEmptyBox(eventLoop: eventLoop)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard eventLoop.inEventLoop else {
            return eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
        append(.task(job))
    }

    /// Does something in its turn. To be called on the loop.
    func perform(_ work: @escaping () -> Void) { append(.work(work)) }

    private func append(_ job: Job) {
        queue.value.jobs.append(job)
        guard !queue.value.isScheduled else { return }
        queue.value.isScheduled = true
        eventLoop.execute { self.runJobs() }
    }

    /// The loop has answered a request without an exchange: there may be more such requests.
    func noteHit() { queue.value.shortSlices = Self.slicesAfterHit }

    /// Runs what there is, and what that brings about.
    private func runJobs() {
        let executor = asUnownedTaskExecutor()
        let limit = queue.value.shortSlices > 0 ? Self.shortSlice : Self.longSlice
        if queue.value.shortSlices > 0 { queue.value.shortSlices -= 1 }
        let end = NIODeadline.now() + Self.slice
        var count = 0
        while let job = queue.value.jobs.popFirst() {
            switch job {
            case .task(let job): job.runSynchronously(on: executor)
            case .work(let work): work()
            }
            count += 1
            guard count >= limit, !queue.value.jobs.isEmpty, NIODeadline.now() >= end else { continue }
            if bell.value?.ring({ self.runJobs() }) != true { eventLoop.execute { self.runJobs() } }
            return
        }
        queue.value.isScheduled = false
    }
}
