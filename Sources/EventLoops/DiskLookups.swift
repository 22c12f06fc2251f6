package import HTTPCache
package import NIOCore
package import NIOPosix
import Synchronization

/// Looks up stored responses for one event loop: on the loop if that needs no waiting, otherwise on
/// threads that may wait for a disk.
///
/// Results are returned together, however they are read. A response wakes the client's process. If
/// that process sleeps again before the next response, this costs as much as the lookup.
///
/// Switching threads costs as much as looking up data that the kernel has cached. So one thread
/// performs all lookups that arrive in the meantime. While this thread waits for the disk, other
/// threads help.
package final class DiskLookups: Sendable {
    /// Called on the loop with the result; `nil` if the store failed.
    package typealias Completion = @Sendable (FoundResponses?) -> Void

    private typealias Waiting = (lookup: StoredLookup, completion: Completion)
    /// Results to return together.
    private typealias Batch = [(completion: Completion, found: FoundResponses?)]

    /// The results that the loop has read itself in its current round.
    private struct Round {
        var found = Batch()
        var isReturning = false
    }

    private struct State {
        var waiting = CircularBuffer<Waiting>()
        var workers = 0
        /// The time when the last lookup began.
        var progress = NIODeadline.now()

        /// Adds a worker if one is needed: the first, or one that helps workers that wait for the
        /// disk. Returns whether a thread must start.
        mutating func addWorker(at now: NIODeadline) -> Bool {
            guard !waiting.isEmpty, workers < DiskLookups.workerLimit else { return false }
            guard workers == 0 || now - progress > DiskLookups.patience else { return false }
            workers += 1
            progress = now
            return true
        }
    }

    /// The maximum number of threads that work for one loop at the same time.
    static let workerLimit = 4
    /// The maximum number of waiting lookups. While a disk hangs, clients that connect and
    /// disconnect leave lookups behind.
    static let waitingLimit = 4096
    /// A lookup that takes longer than this is waiting for a disk.
    private static let patience = TimeAmount.milliseconds(1)
    /// The maximum number of results that are returned together, and the maximum time to collect
    /// them.
    private static let batchLimit = 16
    private static let batchTime = TimeAmount.microseconds(200)

    /// The maximum number of the loop's own results that are returned together, of at most 64 KiB
    /// each.
    private static let roundLimit = 64

    private let eventLoop: any EventLoop
    private let threads: NIOThreadPool
    private let state = Mutex(State())
    private let round: NIOLoopBoundBox<Round>

    package init(_ eventLoop: any EventLoop, threads: NIOThreadPool = .singleton) {
        self.eventLoop = eventLoop
        self.threads = threads
        round = .makeBoxSendingValue(Round(), eventLoop: eventLoop)
    }

    /// Begins a lookup. Call it on the loop.
    ///
    /// - Returns: `false` if too many lookups are waiting. Then `completion` is not called.
    package func begin(_ lookup: StoredLookup, _ completion: @escaping Completion) -> Bool {
        if let found = lookup.readAtOnce() {
            takeRead((completion, found))
            return true
        }
        let now = NIODeadline.now()
        let (isTaken, isWorkerDue) = state.withLock { state in
            guard state.waiting.count < Self.waitingLimit else { return (false, state.addWorker(at: now)) }
            state.waiting.append((lookup, completion))
            return (true, state.addWorker(at: now))
        }
        if isWorkerDue { startWorker() }
        return isTaken
    }

    /// Returns a result of the loop's own at the end of its round, or with enough others.
    private func takeRead(_ result: Batch.Element) {
        round.value.found.append(result)
        let count = round.value.found.count
        if count >= Self.roundLimit, !round.value.isReturning { return returnRound() }
        if count == 1 { eventLoop.execute { self.returnRound() } }
    }

    private func returnRound() {
        round.value.isReturning = true
        let found = round.value.found
        round.value.found = []
        // A client that gets a response may ask for the next. Its result is returned later.
        for (completion, found) in found { completion(found) }
        round.value.isReturning = false
    }

    /// Starts another thread. On the loop, it starts at the end of the current round, so that a
    /// round wakes one thread once for all its lookups.
    private func startWorker() {
        // The pool accepts this even while it shuts down: every lookup that was begun gets a
        // result.
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
                let isHelpDue = state.addWorker(at: now)
                state.progress = now
                return (next, isHelpDue)
            }
            if isHelpDue { startWorker() }
            guard let next else { return returnResults(found) }
            if found.isEmpty { found.reserveCapacity(Self.batchLimit) }
            found.append((next.completion, next.lookup.read()))
            now = .now()
            if found.count >= Self.batchLimit || now - batchStart > Self.batchTime {
                returnResults(found)
                found = []
                batchStart = now
            }
        }
    }

    private func returnResults(_ found: Batch) {
        guard !found.isEmpty else { return }
        eventLoop.execute {
            for (completion, found) in found { completion(found) }
        }
    }
}
