import HTTPCacheSemantics
import Synchronization

/// What is known of the origins that are asked or unreachable: their breakers, and how many
/// requests are under way to each.
///
/// An origin that answers and has no request under way is not in it, so it grows with the work at
/// hand and no further.
final class OriginRegistry: Sendable {
    /// A class, so that what changes with every request changes in its place.
    fileprivate final class Record {
        var breaker = Breaker()
        var places = OriginPlaces()
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        /// Bodies that go on without a reader, each with what ends it.
        var unread: [UInt64: @Sendable () -> Void] = [:]
        /// What a probe asks for where no connection came about: the last GET that failed so.
        var probe: CacheRequest?
        var probing: Task<Void, Never>?

        var isIdle: Bool { breaker.isIdle && places.isEmpty && unread.isEmpty && probing == nil }
    }

    fileprivate struct State {
        var options: EngineOptions
        var records: [Origin: Record] = [:]
        var nextWaiter: UInt64 = 0
        var isClosed = false
    }

    /// Origins whose failures are remembered at a time; of more, the further ones are simply asked
    /// each time.
    static let breakerLimit = 4096

    private let state: Mutex<State>

    init(options: EngineOptions) { state = Mutex(State(options: options)) }

    /// Takes other limits. More room is given to those who wait at once; less is reached as
    /// requests end.
    func reconfigure(_ options: EngineOptions) {
        let admitted = state.withLock { state in
            state.options = options
            return state.records.values.flatMap { $0.waiters($0.places.admit(limit: options.inFlightLimit)) }
        }
        for waiter in admitted { waiter.resume() }
    }

    // MARK: Reachability

    /// Whether the origin counts as unreachable.
    func isOpen(_ origin: Origin) -> Bool {
        state.withLock { $0.records[origin]?.breaker.isOpen ?? false }
    }

    /// What a request may expect.
    ///
    /// - Parameter asked: made where anything has failed lately.
    func verdict(_ origin: Origin, _ asked: @Sendable () -> AskedTarget, at now: Timestamp) -> Breaker.Verdict {
        state.withLock { state in
            guard let record = state.records[origin], !record.breaker.isIdle else { return .reachable }
            return record.breaker.verdict(for: asked(), at: now)
        }
    }

    /// Whether a request that nothing stored can answer may be sent now.
    func admits(_ origin: Origin, _ asked: AskedTarget, at now: Timestamp) -> Bool {
        state.withLock { $0.records[origin]?.breaker.admit(asked, at: now) ?? true }
    }

    /// What ``admits(_:_:at:)`` would say, without its being said.
    func wouldAdmit(_ origin: Origin, _ asked: AskedTarget, at now: Timestamp) -> Bool {
        state.withLock { $0.records[origin]?.breaker.wouldAdmit(asked, at: now) ?? true }
    }

    /// The origin sent a response.
    ///
    /// - Parameters:
    ///   - asked: made where anything has failed lately.
    ///   - now: likewise.
    /// - Returns: whether it counted as unreachable.
    func answered(_ origin: Origin, _ asked: @Sendable () -> AskedTarget, at now: @Sendable () -> Timestamp) -> Bool {
        let (wasOpen, probing) = state.withLock { state -> (Bool, Task<Void, Never>?) in
            guard let record = state.records[origin], !record.breaker.isIdle else { return (false, nil) }
            let wasOpen = record.breaker.answered(asked(), at: now())
            if record.probe != nil { record.probe = nil }
            let probing = record.probing.take()
            state.forgetIfIdle(record, origin)
            return (wasOpen, probing)
        }
        probing?.cancel()
        return wasOpen
    }

    /// A request failed.
    ///
    /// - Parameters:
    ///   - probe: what failed, where it can be sent again to look for the origin's return.
    ///   - startProbing: makes the task that asks for something else, at once or from time to time.
    /// - Returns: whether the origin counts as unreachable now, and did not before.
    func failed(
        _ origin: Origin,
        _ asked: AskedTarget,
        _ failure: Breaker.Failure,
        probe: CacheRequest?,
        at now: Timestamp,
        startProbing: () -> Task<Void, Never>
    ) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.records[origin] != nil || state.records.count < Self.breakerLimit else {
                return false
            }
            let record = state.record(of: origin)
            if failure == .connection, var probe {
                // Interim responses to a probe are nobody's.
                probe.onInformational = nil
                probe.place = .system
                probe.client = .none
                record.probe = probe
            }
            let action = record.breaker.failed(asked, failure, state.options.breaker, at: now)
            // In the same moment, so that no probe ends before it is known.
            if action != .none, record.probing == nil { record.probing = startProbing() }
            return action == .open
        }
    }

    /// What to wait for, and what to ask then; `nil` when the origin is reachable.
    func nextProbe(_ origin: Origin, jitter: Double) -> Duration? {
        state.withLock { $0.records[origin]?.breaker.backOff($0.options.breaker, jitter: jitter) }
    }

    /// What a probe asks for: the last GET for which no connection came about. Where the origin
    /// took the connection and did not answer, its target may be to blame: then the first of some
    /// others that has not failed.
    ///
    /// - Parameter others: these, each with its name.
    func probe(_ origin: Origin, among others: [(request: CacheRequest, target: Int)]) -> CacheRequest? {
        state.withLock { state in
            guard let record = state.records[origin], record.breaker.isProbed else { return nil }
            if let probe = record.probe, !record.breaker.probesAnotherTarget { return probe }
            guard !others.isEmpty else { return record.probe }
            return
                (others.first { !record.breaker.isFailing(target: $0.target) }
                ?? others[record.breaker.probeCount % others.count]).request
        }
    }

    /// - Returns: whether the origin counts as unreachable now, and did not before.
    func probeFailed(_ origin: Origin, at now: Timestamp) -> Bool {
        state.withLock { $0.records[origin]?.breaker.probeFailed(at: now) == .open }
    }

    /// No route leads there any more: what is remembered of its failures is forgotten.
    ///
    /// - Returns: whether it counted as unreachable.
    func forget(_ origin: Origin) -> Bool {
        let (wasOpen, probing) = state.withLock { state -> (Bool, Task<Void, Never>?) in
            guard let record = state.records[origin] else { return (false, nil) }
            let wasOpen = record.breaker.isOpen
            record.breaker = Breaker()
            record.probe = nil
            let probing = record.probing.take()
            state.forgetIfIdle(record, origin)
            return (wasOpen, probing)
        }
        probing?.cancel()
        return wasOpen
    }

    /// Ends every probe and refuses those who wait.
    func close() async {
        let (tasks, waiting) = state.withLock { state in
            state.isClosed = true
            let tasks = state.records.values.compactMap(\.probing)
            let waiting = state.records.values.flatMap(\.waiting.values)
            for record in state.records.values {
                for id in record.waiting.keys { _ = record.places.giveUp(id) }
                record.waiting = [:]
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

    /// Takes a place among the requests under way, waiting for one where the client may have none
    /// now.
    ///
    /// - Throws: ``Overload`` when too many wait already, `CancellationError`.
    func enter(_ origin: Origin, _ client: RequestClient) async throws {
        let id = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled || state.isClosed { return .failure(CancellationError()) }
                    let (record, options) = (state.record(of: origin), state.options)
                    switch record.places.enter(
                        id,
                        client,
                        limit: options.inFlightLimit,
                        waitingLimit: options.waitingLimit
                    ) {
                    case .entered: return .success(())
                    case .full: return .failure(Overload.full)
                    case .waits:
                        record.waiting[id] = continuation
                        return nil
                    }
                }
                guard let result else { return endUnread(origin) }
                continuation.resume(with: result)
            }
        } onCancel: {
            let waiter = state.withLock { $0.giveUp(id, origin) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Takes a place if one is free for the client.
    func enterIfFree(_ origin: Origin, _ client: RequestClient) -> Bool {
        state.withLock { state in
            !state.isClosed && state.record(of: origin).places.enterIfFree(client, limit: state.options.inFlightLimit)
        }
    }

    /// The same for a request that nothing stored can answer, where nothing speaks against sending
    /// it.
    func enterIfReachable(
        _ origin: Origin,
        _ client: RequestClient,
        _ asked: @Sendable () -> AskedTarget,
        at now: @Sendable () -> Timestamp
    ) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            let record = state.record(of: origin)
            guard record.breaker.isIdle || record.breaker.verdict(for: asked(), at: now()) == .reachable else {
                return false
            }
            return record.places.enterIfFree(client, limit: state.options.inFlightLimit)
        }
    }

    /// Gives a place back, or hands it to whose turn it is.
    func leave(_ origin: Origin, _ client: RequestClient) {
        for waiter in state.withLock({ $0.leave(origin, client) }) { waiter.resume() }
    }

    // MARK: Bodies that nobody reads

    /// A body goes on without a reader, until a request waits for its place.
    ///
    /// - Parameter end: called under no lock, once at most.
    /// - Returns: names it for ``isNotUnread(_:_:)``; `nil` where a request waits already.
    func goesOnUnread(_ origin: Origin, _ end: @escaping @Sendable () -> Void) -> UInt64? {
        state.withLock { state in
            let record = state.record(of: origin)
            guard record.places.waitingCount == 0 else { return nil }
            state.nextWaiter += 1
            record.unread[state.nextWaiter] = end
            return state.nextWaiter
        }
    }

    /// It has ended, or has a reader again.
    func isNotUnread(_ id: UInt64, _ origin: Origin) {
        state.withLock { state in
            guard let record = state.records[origin] else { return }
            record.unread[id] = nil
            state.forgetIfIdle(record, origin)
        }
    }

    /// A request waits for what the bodies of this origin hold that nobody reads.
    func endUnread(_ origin: Origin) {
        let unread = state.withLock { state -> [@Sendable () -> Void] in
            guard let record = state.records[origin], !record.unread.isEmpty else { return [] }
            defer { record.unread = [:] }
            return Array(record.unread.values)
        }
        for end in unread { end() }
    }

    /// Too many requests are under way to one origin, or wait for it.
    enum Overload: Error {
        case full
        /// A place did not become free in time.
        case waited(Duration)
    }
}

extension OriginRegistry.Record {
    /// Takes out the continuations of waiters who have a place now.
    fileprivate func waiters(_ admitted: [UInt64]) -> [CheckedContinuation<Void, any Error>] {
        admitted.compactMap { waiting.removeValue(forKey: $0) }
    }
}

extension OriginRegistry.State {
    fileprivate mutating func record(of origin: Origin) -> OriginRegistry.Record {
        if let record = records[origin] { return record }
        let record = OriginRegistry.Record()
        records[origin] = record
        return record
    }

    fileprivate mutating func leave(
        _ origin: Origin,
        _ client: RequestClient
    ) -> [CheckedContinuation<Void, any Error>] {
        guard let record = records[origin] else { return [] }
        // The place goes from hand to hand: nobody who comes now can take it in between.
        let admitted = record.places.leave(client, limit: options.inFlightLimit)
        guard admitted.isEmpty else { return record.waiters(admitted) }
        forgetIfIdle(record, origin)
        return []
    }

    /// Takes a waiter out who gave up.
    fileprivate mutating func giveUp(_ id: UInt64, _ origin: Origin) -> CheckedContinuation<Void, any Error>? {
        guard let record = records[origin], record.places.giveUp(id) else { return nil }
        let waiter = record.waiting.removeValue(forKey: id)
        forgetIfIdle(record, origin)
        return waiter
    }

    fileprivate mutating func forgetIfIdle(_ record: OriginRegistry.Record, _ origin: Origin) {
        if record.isIdle { records[origin] = nil }
    }
}
