package import NIOCore

/// Runs tasks and other work on an event loop, so that an exchange whose origin connection is on
/// the same loop never switches threads.
///
/// Jobs that arrive while the loop is busy run in order at the end of the loop's current round.
/// They run in slices, so that hits, which the loop serves as they arrive, do not wait for all
/// jobs. Slices are short if the loop has recently served hits. Otherwise they are longer, which
/// costs less.
package final class LoopExecutor: TaskExecutor {
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

    /// The minimum duration of a slice. Once a slice has also run enough jobs, it ends, and the
    /// loop polls its sockets. Polling costs as much as a few jobs, because it evicts data from the
    /// processor's caches.
    private static let slice = TimeAmount.microseconds(100)
    /// The time after which a slice ends even if it has run few jobs. Some jobs, such as rewriting
    /// a piece of a page, take as long as a hundred others.
    private static let longestSlice = TimeAmount.milliseconds(1)
    private static let (shortSlice, longSlice) = (16, 256)
    /// The number of short slices after a hit.
    private static let slicesAfterHit = 256

    package let eventLoop: any EventLoop
    private let queue: NIOLoopBoundBox<Queue>
    /// Makes the loop poll its sockets. If it is `nil`, all jobs run in one round.
    let bell: NIOLoopBoundBox<LoopBell?>

    package init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        queue = .makeBoxSendingValue(Queue(), eventLoop: eventLoop)
        bell = .makeEmptyBox(eventLoop: eventLoop)
    }

    /// Makes jobs that do not fit into one round wait for the next poll of the sockets. See
    /// ``LoopBell/install(on:for:)``.
    package func installBell() async throws -> any Channel { try await LoopBell.install(on: eventLoop, for: self) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard eventLoop.inEventLoop else {
            return eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
        append(.task(job))
    }

    /// Runs work after all earlier jobs. Call it on the loop.
    package func perform(_ work: @escaping () -> Void) { append(.work(work)) }

    private func append(_ job: Job) {
        queue.value.jobs.append(job)
        guard !queue.value.isScheduled else { return }
        queue.value.isScheduled = true
        eventLoop.execute { self.runJobs() }
    }

    /// Records that the loop has served a hit, because more may follow.
    package func noteHit() { queue.value.shortSlices = Self.slicesAfterHit }

    /// Runs a slice of the jobs, including jobs that they add.
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
    /// - Parameter isLong: whether the slice has run its minimum number of jobs.
    private func isOver(since start: NIODeadline, isLong: Bool) -> Bool {
        NIODeadline.now() - start >= (isLong ? Self.slice : Self.longestSlice)
    }
}
