import HTTPCacheSemantics
import NIOCore
import Synchronization

/// What is known of the origins that are asked or away: their breakers, and how many requests are under way to each.
///
/// An origin that answers and has no request under way is not in it, so it grows with the work at hand and no further.
final class OriginRegistry: Sendable {
    /// A class, so that what changes with every request changes in its place.
    fileprivate final class Record {
        var breaker = Breaker()
        var inFlight = 0
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        /// In the order in which they came; some may have left.
        var queue = CircularBuffer<UInt64>()
        /// What a probe asks for: the last GET that failed.
        var probe: CacheRequest?
        var probing: Task<Void, Never>?

        var isIdle: Bool { breaker.isIdle && inFlight == 0 && waiting.isEmpty && probing == nil }
    }

    fileprivate struct State {
        var options: EngineOptions
        var records: [Origin: Record] = [:]
        var nextWaiter: UInt64 = 0
        var isClosed = false
    }

    /// Origins that may count as away at a time; of more, the further ones are simply asked each time.
    static let breakerLimit = 4096

    private let state: Mutex<State>

    init(options: EngineOptions) { state = Mutex(State(options: options)) }

    /// Takes other limits. More room is given to those who wait at once; less is reached as requests end.
    func reconfigure(_ options: EngineOptions) {
        let admitted = state.withLock { state in
            state.options = options
            return state.admitWaiting()
        }
        for waiter in admitted { waiter.resume() }
    }

    // MARK: Reachability

    /// Whether the origin counts as away.
    func isAway(_ origin: Origin) -> Bool {
        state.withLock { $0.records[origin]?.breaker.isOpen ?? false }
    }

    /// Whether a request that nothing stored can answer may be sent now.
    func admits(_ origin: Origin) -> Bool {
        state.withLock { $0.records[origin]?.breaker.admit() ?? true }
    }

    /// What ``admits(_:)`` would say, without its being said.
    func wouldAdmit(_ origin: Origin) -> Bool {
        state.withLock { $0.records[origin]?.breaker.wouldAdmit ?? true }
    }

    /// The origin answered.
    ///
    /// - Returns: whether it was thought to be away.
    func answered(_ origin: Origin) -> Bool {
        let (wasAway, probing) = state.withLock { state -> (Bool, Task<Void, Never>?) in
            guard let record = state.records[origin] else { return (false, nil) }
            let wasAway = record.breaker.answered()
            let probing = wasAway ? record.probing.take() : nil
            if record.probe != nil { record.probe = nil }
            state.forgetIfIdle(record, origin)
            return (wasAway, probing)
        }
        probing?.cancel()
        return wasAway
    }

    /// The origin could not be reached.
    ///
    /// - Parameters:
    ///   - probe: what failed, where it can be sent again to look for the origin's return.
    ///   - startProbing: called, under no lock, where the breaker opened now.
    /// - Returns: whether it opened now.
    func failed(
        _ origin: Origin,
        isConclusive: Bool,
        probe: CacheRequest?,
        startProbing: () -> Task<Void, Never>
    ) -> Bool {
        let isOpening = state.withLock { state in
            guard !state.isClosed, state.records[origin] != nil || state.records.count < Self.breakerLimit else {
                return false
            }
            let record = state.record(of: origin)
            let isOpening = record.breaker.failed(
                isConclusive: isConclusive,
                threshold: state.options.breaker.failureThreshold
            )
            if var probe {
                // Interim responses to a probe are nobody's.
                probe.onInformational = nil
                probe.place = .system
                record.probe = probe
            }
            return isOpening
        }
        guard isOpening else { return false }
        let task = startProbing()
        let isObsolete = state.withLock { state in
            // The origin may have answered somebody in between.
            guard !state.isClosed, state.records[origin]?.breaker.isOpen == true else { return true }
            state.records[origin]?.probing = task
            return false
        }
        if isObsolete { task.cancel() }
        return true
    }

    /// What to wait for, and what to ask then; `nil` when the origin is back.
    func nextProbe(_ origin: Origin, jitter: Double) -> Duration? {
        state.withLock { state in
            guard let record = state.records[origin], record.breaker.isOpen else { return nil }
            return record.breaker.backOff(state.options.breaker, jitter: jitter)
        }
    }

    /// The last GET that failed.
    func probe(_ origin: Origin) -> CacheRequest? {
        state.withLock { $0.records[origin]?.probe }
    }

    func probeFailed(_ origin: Origin) {
        state.withLock { $0.records[origin]?.breaker.probeFailed() }
    }

    /// Ends every probe and refuses those who wait.
    func close() async {
        let (tasks, waiting) = state.withLock { state in
            state.isClosed = true
            let tasks = state.records.values.compactMap(\.probing)
            let waiting = state.records.values.flatMap(\.waiting.values)
            for record in state.records.values {
                record.waiting = [:]
                record.queue.removeAll()
                record.probing = nil
            }
            return (tasks, waiting)
        }
        for waiter in waiting { waiter.resume(throwing: CancellationError()) }
        for task in tasks {
            task.cancel()
            await task.value
        }
    }

    // MARK: Requests under way

    /// Takes a place among the requests under way, waiting for one where all are taken.
    ///
    /// - Throws: ``Overload`` when too many wait already, `CancellationError`.
    func enter(_ origin: Origin) async throws {
        let id = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled || state.isClosed { return .failure(CancellationError()) }
                    if state.enter(origin) { return .success(()) }
                    let record = state.record(of: origin)
                    guard record.waiting.count < state.options.waitingLimit else { return .failure(Overload.full) }
                    record.waiting[id] = continuation
                    record.queue.append(id)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.giveUp(id, origin) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Takes a place if one is free.
    func enterIfFree(_ origin: Origin) -> Bool {
        state.withLock { !$0.isClosed && $0.enter(origin) }
    }

    /// Gives a place back, or hands it to who has waited longest.
    func leave(_ origin: Origin) {
        let next = state.withLock { $0.leave(origin) }
        next?.resume()
    }

    /// Too many requests are under way to one origin, or wait for it.
    enum Overload: Error {
        case full
        /// A place did not become free in time.
        case waited(Duration)
    }
}

extension OriginRegistry.State {
    fileprivate mutating func record(of origin: Origin) -> OriginRegistry.Record {
        if let record = records[origin] { return record }
        let record = OriginRegistry.Record()
        records[origin] = record
        return record
    }

    fileprivate mutating func enter(_ origin: Origin) -> Bool {
        let record = record(of: origin)
        guard record.inFlight < options.inFlightLimit else { return false }
        record.inFlight += 1
        return true
    }

    fileprivate mutating func leave(_ origin: Origin) -> CheckedContinuation<Void, any Error>? {
        guard let record = records[origin] else { return nil }
        // Of more than there may be since the limit was lowered, this place is nobody's.
        while record.inFlight <= options.inFlightLimit, let id = record.queue.popFirst() {
            // The place goes from hand to hand: nobody who comes now can take it in between.
            if let waiter = record.waiting.removeValue(forKey: id) { return waiter }
        }
        record.inFlight -= 1
        forgetIfIdle(record, origin)
        return nil
    }

    /// Gives free places to those who have waited longest.
    fileprivate func admitWaiting() -> [CheckedContinuation<Void, any Error>] {
        var admitted: [CheckedContinuation<Void, any Error>] = []
        for record in records.values where !record.waiting.isEmpty {
            while record.inFlight < options.inFlightLimit, let id = record.queue.popFirst() {
                guard let waiter = record.waiting.removeValue(forKey: id) else { continue }
                record.inFlight += 1
                admitted.append(waiter)
            }
        }
        return admitted
    }

    /// Takes a waiter out who gave up; their numbers leave the queue in heaps, so that giving up stays cheap and the queue bounded.
    fileprivate mutating func giveUp(_ id: UInt64, _ origin: Origin) -> CheckedContinuation<Void, any Error>? {
        guard let record = records[origin], let waiter = record.waiting.removeValue(forKey: id) else { return nil }
        if record.queue.count > 2 * record.waiting.count + 64 {
            record.queue = CircularBuffer(record.queue.filter { record.waiting[$0] != nil })
        }
        forgetIfIdle(record, origin)
        return waiter
    }

    fileprivate mutating func forgetIfIdle(_ record: OriginRegistry.Record, _ origin: Origin) {
        if record.isIdle { records[origin] = nil }
    }
}
