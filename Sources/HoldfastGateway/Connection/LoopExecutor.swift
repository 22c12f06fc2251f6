import NIOCore

/// Runs tasks and other work on an event loop, so that an exchange whose origin is served by the
/// same loop changes no thread.
///
/// Jobs that come while the loop is at work run when the loop's current round is over, in the order
/// in which they came. They run in slices, so that hits, which the loop serves as they come, do not
/// wait for all of them. Slices are short if the loop has served hits lately. Otherwise they are
/// longer, which costs less.
final class LoopExecutor: TaskExecutor {
    private enum Job {
        case task(UnownedJob)
        case work(() -> Void)
    }

    private struct Queue {
        var jobs = CircularBuffer<Job>()
        var isScheduled = false
        /// The number of slices that must still be short.
        var shortSlices = 0
    }

    /// The least time, and the least number of jobs, before the loop polls its sockets. Polling
    /// costs as much as some jobs, because the processor's caches lose data by it.
    private static let slice = TimeAmount.microseconds(100)
    /// The time after which the loop polls its sockets however few jobs there were: some jobs, such
    /// as rewriting a piece of a page, take as long as a hundred others.
    private static let longestSlice = TimeAmount.milliseconds(1)
    private static let (shortSlice, longSlice) = (16, 256)
    /// The number of slices that are short after a hit.
    private static let slicesAfterHit = 256

    let eventLoop: any EventLoop
    private let queue: NIOLoopBoundBox<Queue>
    /// The bell that makes the loop poll; without one, all jobs run in one round.
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

    /// Runs work behind the jobs that came before. Call it on the loop.
    func perform(_ work: @escaping () -> Void) { append(.work(work)) }

    private func append(_ job: Job) {
        queue.value.jobs.append(job)
        guard !queue.value.isScheduled else { return }
        queue.value.isScheduled = true
        eventLoop.execute { self.runJobs() }
    }

    /// Records that the loop has served a hit: more may come.
    func noteHit() { queue.value.shortSlices = Self.slicesAfterHit }

    /// Runs a slice of the jobs, and those that they add.
    private func runJobs() {
        let executor = asUnownedTaskExecutor()
        let limit = queue.value.shortSlices > 0 ? Self.shortSlice : Self.longSlice
        if queue.value.shortSlices > 0 { queue.value.shortSlices -= 1 }
        let start = NIODeadline.now()
        var count = 0
        while let job = queue.value.jobs.popFirst() {
            switch job {
            case .task(let job): job.runSynchronously(on: executor)
            case .work(let work): work()
            }
            count += 1
            guard !queue.value.jobs.isEmpty, isOver(since: start, isLong: count >= limit) else { continue }
            if bell.value?.ring({ self.runJobs() }) != true { eventLoop.execute { self.runJobs() } }
            return
        }
        queue.value.isScheduled = false
    }

    /// Whether a slice is over.
    ///
    /// - Parameter isLong: whether it has had as many jobs as a slice must have.
    private func isOver(since start: NIODeadline, isLong: Bool) -> Bool {
        NIODeadline.now() - start >= (isLong ? Self.slice : Self.longestSlice)
    }
}
