package import HTTPCacheSemantics
import Synchronization

/// The state of origins that are in use or unreachable: their breakers, and their requests in
/// progress.
///
/// An origin that responds and has no request in progress is not kept, so the registry grows only
/// with the current work.
package final class OriginRegistry: Sendable {
    /// The state of one origin. A class, so that frequent changes happen in place.
    fileprivate final class Record {
        var breaker = Breaker()
        var permits: OriginPermits
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        /// The functions that end bodies that continue without a reader, one for each body.
        var unread: [UInt64: @Sendable () -> Void] = [:]
        /// The request to repeat as a probe if no connection can be opened: the last GET that
        /// failed in this way.
        var probe: CacheRequest?
        /// The authority in the last request that failed. A probe of another target has it too,
        /// because the origin may not know its own name.
        var authority: String?
        var probing: Task<Void, Never>?
        var nextProbe: Timestamp?
        /// The time up to which the current outage is included in ``State/outages``; `nil` if it is
        /// not included.
        var countedUntil: Timestamp?
        /// Whether the last failure says only that a name does not resolve that a client may have
        /// mistyped. It does not change during an outage.
        var hasUnknownName = false
        var notes = FailureNotes()

        init(permits: OriginPermits) { self.permits = permits }

        /// Whether the origin is unreachable and reports say so.
        var isOutage: Bool { breaker.isOpen && !hasUnknownName }

        var isIdle: Bool { breaker.isIdle && permits.isEmpty && unread.isEmpty && probing == nil }
    }

    fileprivate struct State {
        var options: EngineOptions
        var records: [Origin: Record] = [:]
        /// The permits of the last origin that became idle, all free, for the next record. A record
        /// that allocated them anew would do so for nearly every request to a quiet origin.
        var idlePermits: OriginPermits?
        var failures = OriginFailures()
        var nextWaiter: UInt64 = 0
        var isClosed = false
        /// The milliseconds that origins were unreachable, by label, including the counted part of
        /// current outages.
        var outages: [String: Int64] = [:]
        /// The last outages that ended, the latest last.
        var ended: [OriginOutage] = []
    }

    /// The maximum number of remembered outages that have ended. They are read every second.
    static let endedLimit = 64

    /// The maximum number of origins whose failures are remembered. Requests to additional origins
    /// are always sent.
    static let breakerLimit = 4096

    private let state: Mutex<State>
    private let labels: OriginLabels
    /// The origins that became unreachable or responded again. A watcher asks ``isOpen(_:)`` for
    /// the current state, because two changes of one origin may be reported in any order.
    package let changes = ChangeFeed<Origin>()

    /// - Parameter labels: the origins' names in metrics.
    init(options: EngineOptions, labels: OriginLabels = OriginLabels()) {
        state = Mutex(State(options: options))
        self.labels = labels
    }

    /// Replaces the limits. If they grow, waiting requests continue immediately. Lower limits take
    /// effect as requests end.
    func reconfigure(_ options: EngineOptions) {
        let admitted = state.withLock { state in
            state.options = options
            return state.records.values.flatMap { $0.waiters($0.permits.admit(limit: options.inFlightLimit)) }
        }
        for waiter in admitted { waiter.resume() }
    }

    // MARK: Reachability

    /// Returns whether the origin is treated as unreachable.
    package func isOpen(_ origin: Origin) -> Bool {
        state.withLock { $0.records[origin]?.breaker.isOpen ?? false }
    }

    /// Returns whether the origin is treated as unreachable and reports say so. They leave out
    /// origins that are ``OriginCondition/Reachability/unresolved``.
    func hasOutage(_ origin: Origin) -> Bool {
        state.withLock { $0.records[origin]?.isOutage ?? false }
    }

    /// The conditions of the origins in the registry, in no particular order.
    package var conditions: [OriginCondition] { state.withLock { Self.conditions($0) } }

    /// The last outages that ended, the latest last. An outage shorter than the time between two
    /// reads of ``conditions`` appears only here.
    package var endedOutages: [OriginOutage] { state.withLock { $0.ended } }

    private static func conditions(_ state: State) -> [OriginCondition] {
        let causes = state.failures.causes
        var failures = state.failures.last
        let known: [OriginCondition] = state.records.map { origin, record in
            var condition = OriginCondition(origin: "\(origin)")
            condition.since = record.breaker.openSince
            condition.reachability =
                if record.breaker.isOpen {
                    record.isOutage ? .unreachable : .unresolved
                } else {
                    record.breaker.isProbed ? .confirming : .reachable
                }
            condition.cause = record.breaker.isProbed ? record.notes.last : causes[origin]
            condition.lastFailure = failures.removeValue(forKey: origin)
            condition.nextProbe = record.breaker.isOpen ? record.nextProbe : nil
            condition.failedProbes = record.breaker.probeCount
            condition.inFlight = record.permits.count
            condition.waiting = record.permits.waitingCount
            return condition
        }
        return known
            + failures.map { origin, failure in
                var condition = OriginCondition(origin: "\(origin)")
                condition.cause = causes[origin]
                condition.lastFailure = failure
                return condition
            }
    }

    /// Returns the metrics of the origins in the registry, and of others, by label.
    ///
    /// The counted part of an outage stays with the label that the origin had at the time.
    /// Therefore no sum ever decreases, even if the clock is set back or a new configuration
    /// changes labels.
    func numbers(with others: [String], at now: Timestamp) -> [OriginNumbers] {
        var all: [String: OriginNumbers] = [:]
        func change(_ label: String, _ change: (inout OriginNumbers) -> Void) {
            change(&all[label, default: OriginNumbers(label: label)])
        }
        for origin in others { change(labels.label(of: origin)) { _ in } }
        let (conditions, outages) = state.withLock { state in
            for (origin, record) in state.records {
                guard record.isOutage, let since = record.breaker.openSince else { continue }
                state.countOutage(of: record, since: since, labels.label(of: "\(origin)"), at: now)
            }
            return (Self.conditions(state), state.outages)
        }
        for condition in conditions {
            change(labels.label(of: condition.origin)) { numbers in
                numbers.inFlight += condition.inFlight
                numbers.waiting += condition.waiting
                if condition.reachability == .unreachable { numbers.isUp = false }
            }
        }
        for (label, milliseconds) in outages { change(label) { $0.outageMilliseconds += milliseconds } }
        return all.values.sorted { $0.label < $1.label }
    }

    /// Returns the breaker's verdict on a request.
    ///
    /// - Parameter asked: called only after a recent failure.
    package func verdict(_ origin: Origin, _ asked: @Sendable () -> AskedTarget, at now: Timestamp) -> Breaker.Verdict {
        state.withLock { state in
            guard let record = state.records[origin], !record.breaker.isIdle else { return .reachable }
            return record.breaker.verdict(for: asked(), at: now)
        }
    }

    /// Returns whether a request for which no stored response can be served may be sent now. If so,
    /// the request uses up the current interval's permission.
    func admits(_ origin: Origin, _ asked: AskedTarget, at now: Timestamp) -> Bool {
        state.withLock { $0.records[origin]?.breaker.admit(asked, at: now) ?? true }
    }

    /// Returns what ``admits(_:_:at:)`` would return, without using up the permission.
    package func wouldAdmit(_ origin: Origin, _ asked: AskedTarget, at now: Timestamp) -> Bool {
        state.withLock { $0.records[origin]?.breaker.wouldAdmit(asked, at: now) ?? true }
    }

    /// Records a response from the origin.
    ///
    /// - Parameters:
    ///   - asked: called only after a recent failure.
    ///   - now: called only after a recent failure.
    /// - Returns: whether this ends an outage.
    func answered(_ origin: Origin, _ asked: @Sendable () -> AskedTarget, at now: @Sendable () -> Timestamp) -> Bool {
        endProbing(origin, at: now) { $0.isIdle ? nil : $0.answered(asked(), at: now()) }
    }

    /// Changes an origin's breaker so that probes are no longer needed.
    ///
    /// - Parameters:
    ///   - now: called only if the origin was treated as unreachable.
    ///   - change: returns whether the breaker was open; `nil` to do nothing.
    /// - Returns: whether this ends an outage.
    private func endProbing(
        _ origin: Origin,
        at now: @Sendable () -> Timestamp,
        _ change: (inout Breaker) -> Bool?
    ) -> Bool {
        let (wasOpen, wasOutage, probing) = state.withLock { state -> (Bool, Bool, Task<Void, Never>?) in
            state.failures.succeed(origin)
            guard let record = state.records[origin] else { return (false, false, nil) }
            let since = record.isOutage ? record.breaker.openSince : nil
            guard let wasOpen = change(&record.breaker) else { return (false, false, nil) }
            record.notes.succeed()
            if let since, !record.breaker.isOpen {
                let now = now()
                state.countOutage(of: record, since: since, labels.label(of: "\(origin)"), at: now)
                record.countedUntil = nil
                state.remember(OriginOutage(number: 0, origin: "\(origin)", since: since, until: now))
            }
            if record.probe != nil { record.probe = nil }
            let probing = record.probing.take()
            state.forgetIfIdle(record, origin)
            return (wasOpen, wasOpen && since != nil, probing)
        }
        probing?.cancel()
        if wasOpen { changes.publish(origin) }
        return wasOutage
    }

    /// Records a failed request.
    ///
    /// - Parameters:
    ///   - probe: the failed request, if it can be repeated as a probe.
    ///   - authority: the authority in the failed request.
    ///   - isUnknownName: whether the name does not resolve, and a client may have mistyped it. If
    ///     so, this begins no outage, although the breaker may open.
    ///   - startProbing: starts the task that probes, immediately or periodically.
    /// - Returns: whether this begins an outage.
    func failed(
        _ origin: Origin,
        _ asked: AskedTarget,
        _ failure: Breaker.Failure,
        probe: CacheRequest?,
        authority: String? = nil,
        isUnknownName: Bool = false,
        at now: Timestamp,
        startProbing: () -> Task<Void, Never>
    ) -> Bool {
        let (isOpened, isOutage) = state.withLock { state -> (Bool, Bool) in
            guard !state.isClosed, state.records[origin] != nil || state.records.count < Self.breakerLimit else {
                return (false, false)
            }
            let record = state.record(of: origin)
            let wasOutage = record.isOutage
            // An outage does not end because the name no longer resolves.
            record.hasUnknownName = isUnknownName && !wasOutage
            if let authority { record.authority = authority }
            if failure == .connection, var probe {
                // No client receives a probe's interim responses, and its outcome is not logged.
                probe.onInformational = nil
                probe.originReport = nil
                probe.executionContext = .system
                probe.client = .none
                record.probe = probe
            }
            let action = record.breaker.failed(asked, failure, state.options.breaker, at: now)
            // Start the task under the same lock, so that no probe ends before its task is
            // recorded.
            if action != .none, record.probing == nil { record.probing = startProbing() }
            return (action == .open, record.isOutage && !wasOutage)
        }
        if isOpened { changes.publish(origin) }
        return isOutage
    }

    /// Records why a request failed. The origin's failure was recorded before.
    ///
    /// - Returns: whether the origin already had an outage for another reason, and the log should
    ///   say so.
    func noteCause(_ cause: FailureCause, of origin: Origin, at now: Timestamp) -> Bool {
        state.withLock { state in
            guard let record = state.records[origin], !record.breaker.isIdle else { return false }
            return record.notes.note(cause, at: now) && record.isOutage
        }
    }

    /// Records why a request failed, whether or not this is evidence that the origin is
    /// unreachable.
    ///
    /// - Returns: whether the log should say so, unless the origin has an outage.
    func noteFailure(_ cause: FailureCause, of origin: Origin, at now: Timestamp) -> Bool {
        state.withLock { state in
            if let record = state.records[origin], record.breaker.isProbed { _ = record.notes.note(cause, at: now) }
            return state.failures.note(cause, of: origin, at: now)
        }
    }

    /// Why the last request to an origin failed; `nil` if it succeeded.
    func cause(of origin: Origin) -> FailureCause? { state.withLock { $0.records[origin]?.notes.last } }

    /// Returns the authority in the last request to an origin that failed; `nil` if none is known.
    func authority(for origin: Origin) -> String? { state.withLock { $0.records[origin]?.authority } }

    /// Returns the time to wait before the next probe; `nil` if the origin is reachable.
    func nextProbe(_ origin: Origin, jitter: Double) -> Duration? {
        state.withLock { $0.records[origin]?.breaker.backOff($0.options.breaker, jitter: jitter) }
    }

    /// Records when the next probe is sent.
    func willProbe(_ origin: Origin, at instant: Timestamp) {
        state.withLock { $0.records[origin]?.nextProbe = instant }
    }

    /// Returns the request for the next probe: the last GET for which no connection could be
    /// opened. If the origin accepted the connection but did not respond, the target may be the
    /// cause, so this returns the first of `others` whose target has not failed.
    ///
    /// - Parameter others: other requests, each with the hash of its target.
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

    /// - Returns: whether this begins an outage.
    func probeFailed(_ origin: Origin, at now: Timestamp) -> Bool {
        let (isOpened, isOutage) = state.withLock { state -> (Bool, Bool) in
            guard let record = state.records[origin], record.breaker.probeFailed(at: now) == .open else {
                return (false, false)
            }
            return (true, record.isOutage)
        }
        if isOpened { changes.publish(origin) }
        return isOutage
    }

    /// Drops an origin's failures, because no valid route leads to it anymore.
    ///
    /// - Returns: whether this ends an outage.
    @discardableResult
    func forget(_ origin: Origin, at now: Timestamp) -> Bool {
        defer { state.withLock { $0.failures.forget(origin) } }
        return endProbing(origin, at: { now }) { breaker in
            defer { breaker = Breaker() }
            return breaker.isOpen
        }
    }

    /// Ends every probe and rejects waiting requests.
    func close() async {
        let (tasks, waiting) = state.withLock { state in
            state.isClosed = true
            let tasks = state.records.values.compactMap(\.probing)
            let waiting = state.records.values.flatMap(\.waiting.values)
            for record in state.records.values {
                for id in record.waiting.keys { _ = record.permits.giveUp(id) }
                record.waiting = [:]
                record.probing = nil
            }
            return (tasks, waiting)
        }
        changes.finish()
        for waiter in waiting { waiter.resume(throwing: CancellationError()) }
        for task in tasks {
            task.cancel()
            await task.value
        }
    }

    // MARK: Requests in progress

    /// Takes a permit for a request. Waits if the client may not have one now.
    ///
    /// - Throws: ``Overload`` if too many requests are already waiting; `CancellationError`.
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
                    switch record.permits.enter(
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
            let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
                guard let record = state.records[origin], record.permits.giveUp(id) else { return nil }
                defer { state.forgetIfIdle(record, origin) }
                return record.waiting.removeValue(forKey: id)
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Takes a permit if one is free for the client.
    ///
    /// - Parameter isWanted: whether the request may be sent to an origin with this breaker; called
    ///   only after a recent failure.
    func enterIfFree(
        _ origin: Origin,
        _ client: RequestClient,
        where isWanted: @Sendable (Breaker) -> Bool = { _ in true }
    ) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            let record = state.record(of: origin)
            guard record.breaker.isIdle || isWanted(record.breaker) else { return false }
            return record.permits.enterIfFree(client, limit: state.options.inFlightLimit)
        }
    }

    /// Returns a permit, or hands it to the next waiter.
    func leave(_ origin: Origin, _ client: RequestClient) {
        let admitted = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            guard let record = state.records[origin] else { return [] }
            // The permit is handed over directly, so no new request can take it in between.
            let admitted = record.waiters(record.permits.leave(client, limit: state.options.inFlightLimit))
            if admitted.isEmpty { state.forgetIfIdle(record, origin) }
            return admitted
        }
        for waiter in admitted { waiter.resume() }
    }

    // MARK: Bodies without a reader

    /// Registers a body that may continue without a reader until a request waits for its permit.
    ///
    /// - Parameter end: called outside the lock, at most once.
    /// - Returns: the body's ID for ``removeUnread(_:_:)``; `nil` if a request is already waiting.
    func addUnread(_ origin: Origin, _ end: @escaping @Sendable () -> Void) -> UInt64? {
        state.withLock { state in
            let record = state.record(of: origin)
            guard record.permits.waitingCount == 0 else { return nil }
            state.nextWaiter += 1
            record.unread[state.nextWaiter] = end
            return state.nextWaiter
        }
    }

    /// Removes a body that ended or has a reader again.
    func removeUnread(_ id: UInt64, _ origin: Origin) {
        state.withLock { state in
            guard let record = state.records[origin] else { return }
            record.unread[id] = nil
            state.forgetIfIdle(record, origin)
        }
    }

    /// Ends the bodies of this origin that have no reader, because a request waits for their
    /// permits.
    func endUnread(_ origin: Origin) {
        let unread = state.withLock { state -> [@Sendable () -> Void] in
            guard let record = state.records[origin], !record.unread.isEmpty else { return [] }
            defer { record.unread = [:] }
            return Array(record.unread.values)
        }
        for end in unread { end() }
    }

    /// The error if too many requests to one origin are in progress or waiting.
    enum Overload: Error {
        case full
        /// A permit did not become free in time.
        case waited(Duration)
    }
}

extension OriginRegistry.Record {
    /// Removes and returns the continuations of waiters that now have a permit.
    fileprivate func waiters(_ admitted: [UInt64]) -> [CheckedContinuation<Void, any Error>] {
        admitted.compactMap { waiting.removeValue(forKey: $0) }
    }
}

extension OriginRegistry.State {
    fileprivate mutating func record(of origin: Origin) -> OriginRegistry.Record {
        if let record = records[origin] { return record }
        let record = OriginRegistry.Record(permits: idlePermits.take() ?? OriginPermits())
        records[origin] = record
        return record
    }

    /// Counts the part of an origin's outage that is not counted yet.
    fileprivate mutating func countOutage(
        of record: OriginRegistry.Record,
        since: Timestamp,
        _ label: String,
        at now: Timestamp
    ) {
        // After the clock was set back, the outage is counted from that time.
        outages[label, default: 0] += max(0, now.milliseconds(since: record.countedUntil ?? since))
        record.countedUntil = now
    }

    /// Remembers an ended outage, with the next number.
    fileprivate mutating func remember(_ outage: OriginOutage) {
        var outage = outage
        outage.number = (ended.last?.number ?? 0) + 1
        if ended.count == OriginRegistry.endedLimit { ended.removeFirst() }
        ended.append(outage)
    }

    fileprivate mutating func forgetIfIdle(_ record: OriginRegistry.Record, _ origin: Origin) {
        guard record.isIdle else { return }
        records[origin] = nil
        idlePermits = record.permits
    }
}
