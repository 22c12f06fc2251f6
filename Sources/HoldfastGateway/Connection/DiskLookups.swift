import HTTPCache
import NIOCore
import NIOPosix
import Synchronization

/// Looks up stored responses for one event loop, on threads that may wait for a disk.
///
/// Changing threads costs as much as a lookup in what the system has cached. So one thread does all
/// that come meanwhile, and brings back several at once; where the disk lets it wait, others help.
final class DiskLookups: Sendable {
    /// What is done on the loop with what was found; `nil`: the store failed.
    typealias Completion = @Sendable (FoundResponses?) -> Void

    private struct Waiting {
        var lookup: StoredLookup
        var completion: Completion
    }

    /// What was found, on its way back.
    private typealias Batch = [(completion: Completion, found: FoundResponses?)]

    private struct State {
        var waiting = CircularBuffer<Waiting>()
        var workers = 0
        /// When a lookup was begun last.
        var progress = NIODeadline.now()

        /// Whether one more thread is to work: the first, or one that helps those that wait for the
        /// disk.
        mutating func takesWorker(at now: NIODeadline) -> Bool {
            guard !waiting.isEmpty, workers < DiskLookups.workerLimit else { return false }
            guard workers == 0 || now - progress > DiskLookups.patience else { return false }
            workers += 1
            progress = now
            return true
        }
    }

    /// Threads that work for one loop at the same time, at most.
    static let workerLimit = 4
    /// Lookups that wait, at most: connections that come and go while a disk stands still leave
    /// theirs behind.
    static let waitingLimit = 4096
    /// A lookup that takes longer waits for a disk.
    private static let patience = TimeAmount.milliseconds(1)
    /// What is found is brought back together, so many and after so long at most.
    private static let batchLimit = 16
    private static let batchTime = TimeAmount.microseconds(200)

    private let eventLoop: any EventLoop
    private let threads: NIOThreadPool
    private let state = Mutex(State())

    init(_ eventLoop: any EventLoop, threads: NIOThreadPool = .singleton) {
        self.eventLoop = eventLoop
        self.threads = threads
    }

    /// - Returns: `false` where too many wait already: then `completion` is not called.
    func begin(_ lookup: StoredLookup, _ completion: @escaping Completion) -> Bool {
        let now = NIODeadline.now()
        let (isTaken, isWorkerDue) = state.withLock { state in
            guard state.waiting.count < Self.waitingLimit else { return (false, state.takesWorker(at: now)) }
            state.waiting.append(Waiting(lookup: lookup, completion: completion))
            return (true, state.takesWorker(at: now))
        }
        if isWorkerDue { startWorker() }
        return isTaken
    }

    /// Has one more thread work.
    ///
    /// On the loop when its present round is over: what comes in one round is done by one thread,
    /// which is woken once for all of it.
    private func startWorker() {
        // Also where the pool is being shut down: a lookup that is begun is answered.
        guard eventLoop.inEventLoop else { return threads.submit { _ in self.work() } }
        eventLoop.execute { self.threads.submit { _ in self.work() } }
    }

    private func work() {
        var found = Batch()
        var batchStart = NIODeadline.now()
        var now = batchStart
        while true {
            let (next, isHelpDue) = state.withLock { state -> (Waiting?, Bool) in
                guard let next = state.waiting.popFirst() else {
                    state.workers -= 1
                    return (nil, false)
                }
                let isHelpDue = state.takesWorker(at: now)
                state.progress = now
                return (next, isHelpDue)
            }
            if isHelpDue { startWorker() }
            guard let next else { return bringBack(found) }
            if found.isEmpty { found.reserveCapacity(Self.batchLimit) }
            found.append((next.completion, next.lookup.read()))
            now = .now()
            if found.count >= Self.batchLimit || now - batchStart > Self.batchTime {
                bringBack(found)
                found = []
                batchStart = now
            }
        }
    }

    private func bringBack(_ found: Batch) {
        guard !found.isEmpty else { return }
        eventLoop.execute {
            for (completion, found) in found { completion(found) }
        }
    }
}
