import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Logging

/// Performs purges one at a time, limits their rate, replays the result of a repeated purge, and
/// keeps the history.
///
/// Purges run in order of arrival. The history is therefore in the order of the store's sequence,
/// and concurrent clients do not exceed the number of purges that the store can compare at once.
actor PurgeCoordinator {
    let operations: any StoreOperations
    /// Fetches purged responses again; `nil` if that is not possible.
    let refreshes: (any RefreshOperations)?
    private let clock: any WallClock
    private let logger: Logger
    private let places: (any OriginURLFinding)?
    private let purges = Limiter(permits: 1, waitingLimit: waitingLimit)
    private let counts = Limiter(permits: 2, waitingLimit: waitingLimit)
    private var rate = PurgeRate()
    private var repeated = IdempotencyTable<PurgeResult>()
    private var history: PurgeHistory
    /// The number of purges, for metrics.
    private(set) var tally = PurgeTally()
    /// The running purge.
    private var underWay: UnderWay?
    private var isEnding = false
    private var whenIdle: CheckedContinuation<Void, Never>?

    private struct UnderWay {
        var purge: PurgeRequest
        var client: String
        var continuation: CheckedContinuation<PurgeResult, any Error>
    }

    /// The maximum number of waiting purges, and of waiting dry runs. It equals the number of
    /// control plane connections on the socket and on the port together. Purges from the gateway's
    /// clients also count toward it.
    static let waitingLimit = 128

    /// Creates a coordinator with an empty history.
    ///
    /// - Parameters:
    ///   - sequence: the sequence number of the last invalidation so far.
    ///   - places: finds where the responses to URLs that clients request are stored; `nil` if
    ///     clients request only the origins' URLs.
    init(
        _ operations: any StoreOperations,
        refreshes: (any RefreshOperations)? = nil,
        since sequence: Int64,
        clock: any WallClock,
        logger: Logger,
        places: (any OriginURLFinding)? = nil
    ) {
        self.places = places
        self.operations = operations
        self.refreshes = refreshes
        self.clock = clock
        self.logger = logger
        history = PurgeHistory(since: sequence)
    }

    /// The numbers of waiting purges and waiting dry runs.
    nonisolated var waiting: (purges: Int, counts: Int) { (purges.waiting, counts.waiting) }

    /// Returns the purges with sequence numbers greater than `sequence`.
    func purges(after sequence: Int64, atMost count: Int) -> PurgeHistory.Page {
        history.page(after: sequence, atMost: count)
    }

    /// Returns the last purges.
    func purges(last count: Int) -> PurgeHistory.Page { history.page(last: count) }

    /// Performs a purge.
    ///
    /// If the task is canceled, a running purge continues, but a dry run stops.
    ///
    /// - Parameters:
    ///   - key: the request's idempotency key; `nil` if it has none.
    ///   - client: the client's name, for the log and the history.
    /// - Throws: ``ControlProblem``; ``Wait`` if there were too many purges; `CancellationError`.
    @concurrent
    nonisolated func purge(
        _ purge: PurgeRequest,
        key: IdempotencyKey? = nil,
        by client: String
    ) async throws -> PurgeResult {
        let purge = places.map { purge.resolved(by: $0) } ?? purge
        // Reject an invalid purge before it takes a permit. A purge may have 1,000 selectors, so
        // check it outside the actor.
        do {
            _ = try purge.scopes()
        } catch {
            await reject(purge)
            throw error
        }
        return try await accept(purge, key, by: client)
    }

    private func accept(_ purge: PurgeRequest, _ key: IdempotencyKey?, by client: String) async throws -> PurgeResult {
        guard let key else { return try await take(purge, by: client) }
        switch repeated.begin(key.text, digest: key.digest, at: clock.now()) {
        case .replay(let result): return result
        case .isUnderWay: throw key.isUnderWay
        case .isAnother: throw key.isAnothers
        case .perform: break
        }
        do {
            let result = try await take(purge, by: client)
            repeated.finish(key.text, with: result)
            return result
        } catch {
            repeated.finish(key.text, with: nil)
            throw error
        }
    }

    private func reject(_ purge: PurgeRequest) { tally.add(purge, .rejected) }

    private func take(_ purge: PurgeRequest, by client: String) async throws -> PurgeResult {
        if let seconds = rate.take(at: clock.now()) {
            reject(purge)
            throw Wait.tooMany(seconds: seconds)
        }
        let queue = purge.dryRun ? counts : purges
        do {
            try await queue.enter()
        } catch Limiter.NoPermit.isFull {
            reject(purge)
            // Clients that retry must not use up other clients' share of the rate.
            rate.giveBack()
            throw Wait.busy(purge)
        } catch Limiter.NoPermit.hasEnded {
            reject(purge)
            throw Self.endingBefore
        }
        defer { queue.leave() }
        return purge.dryRun ? try await count(purge, by: client) : try await perform(purge, by: client)
    }

    private static let endingBefore = ControlProblem(
        .ending,
        "The gateway is shutting down. Nothing was purged. Repeat the purge after the restart."
    )

    private func count(_ purge: PurgeRequest, by client: String) async throws -> PurgeResult {
        do {
            return try await performRefreshing(purge, by: client)
        } catch let error as ControlProblem {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ControlProblem(
                .storeFailed,
                "The responses cannot be counted: \(error) Nothing was changed. '/readyz' shows the state of the store."
            )
        }
    }

    // MARK: The running purge

    /// Performs a purge that has a permit.
    func perform(_ purge: PurgeRequest, by client: String) async throws -> PurgeResult {
        // The purge may have received its permit just before the shutdown.
        if isEnding {
            reject(purge)
            throw Self.endingBefore
        }
        return try await withCheckedThrowingContinuation { continuation in
            underWay = UnderWay(purge: purge, client: client, continuation: continuation)
            // This is not a child of the client's task, because a purge must not stop halfway when
            // its client disconnects.
            Task {
                let result: Result<PurgeResult, any Error>
                do {
                    result = .success(try await performRefreshing(purge, by: client))
                } catch {
                    result = .failure(error)
                }
                await finish(result)
            }
        }
    }

    private func finish(_ result: Result<PurgeResult, any Error>) async {
        switch result {
        case .success(let result):
            // If the purge was abandoned, its client already has a response.
            guard let purged = underWay.take() else { return }
            tally.add(purged.purge, .ok)
            record(purged.purge, result, by: purged.client)
            purged.continuation.resume(returning: result)
        case .failure(let error):
            // The store may be slow to report its condition. Record the failure only afterward: the
            // purge may be abandoned in the meantime, which also records it.
            let problem = await problem(of: error)
            guard let purged = underWay.take() else { return }
            record(purged.purge, problem, error, by: purged.client)
            purged.continuation.resume(throwing: problem)
        }
        whenIdle?.resume()
        whenIdle = nil
    }

    private func record(_ purge: PurgeRequest, _ result: PurgeResult, by client: String) {
        guard let sequence = result.sequence else { return }
        let record = PurgeHistory.Record(
            purge,
            sequence: sequence,
            at: clock.now(),
            by: client,
            outcome: .matched(result.matched)
        )
        history.append(record)
        var metadata: Logger.Metadata = [
            "control.client": "\(client)", "purge.action": "\(purge.action.rawValue)",
            "purge.selectors": "\(purge.select.count)", "purge.responses": "\(result.matched.responses)",
            "purge.sequence": "\(sequence)",
        ]
        if !purge.coverage.isEmpty {
            metadata["purge.covers"] = "\(purge.coverage.map(\.text).joined(separator: "; "))"
        }
        metadata["purge.reason"] = purge.reason.map { "\($0)" }
        if result.durable == false { metadata["purge.durable"] = "false" }
        logger.log(level: result.durable == false ? .warning : .notice, "Purged", metadata: metadata)
    }

    /// Returns the problem that the client receives for an error.
    private func problem(of error: any Error) async -> ControlProblem {
        if let known = error as? ControlProblem { return known }
        let condition = await operations.storeCondition()
        if condition == .readOnly || condition == .readOnlyOnFullDisk {
            return ControlProblem(
                .storeReadOnly,
                "The store is read-only, so the purge was not completed; part of it may be in force. "
                    + "Free some space or make the file system writable, restart the gateway, and repeat the purge."
            )
        }
        return ControlProblem(
            .storeFailed,
            "The purge was not completed, but part of it may be in force: \(error) Then repeat the purge; purging twice does no harm."
        )
    }

    private func record(_ purge: PurgeRequest, _ problem: ControlProblem, _ error: any Error, by client: String) {
        tally.add(purge, .failed)
        history.append(failed(purge, problem, by: client))
        logger.error(
            "Purge failed",
            metadata: ["control.client": "\(client)", "control.problem": "\(problem.code)", "error": "\(error)"]
        )
    }

    private func failed(_ purge: PurgeRequest, _ problem: ControlProblem, by client: String) -> PurgeHistory.Record {
        PurgeHistory.Record(
            purge,
            sequence: operations.invalidationSequence.number,
            at: clock.now(),
            by: client,
            outcome: .problem(problem.code)
        )
    }

    // MARK: The end

    /// Shuts the coordinator down. Rejects waiting purges, and waits a limited time for the running
    /// purge. If the purge takes longer, its client gets an error that says that part of it may be
    /// in force.
    ///
    /// - Parameter limit: how long to wait for the running purge.
    func end(within limit: Duration, _ clock: any Clock<Duration> = ContinuousClock()) async {
        isEnding = true
        purges.end()
        counts.end()
        guard underWay != nil else { return }
        // This is not a child task, because it must end a wait that cannot be canceled.
        let timer = Task {
            try? await clock.sleep(for: limit)
            if !Task.isCancelled { abandon() }
        }
        await withCheckedContinuation { whenIdle = $0 }
        timer.cancel()
    }

    private func abandon() {
        guard let abandoned = underWay else { return }
        underWay = nil
        let problem = ControlProblem(
            .ending,
            "The gateway is shutting down before the purge is complete, so part of it may be in force. Repeat the purge after the restart; purging twice does no harm."
        )
        tally.add(abandoned.purge, .failed)
        history.append(failed(abandoned.purge, problem, by: abandoned.client))
        logger.warning(
            "Shutting down before a purge is complete; part of it may be in force",
            metadata: [
                "control.client": "\(abandoned.client)", "purge.action": "\(abandoned.purge.action.rawValue)",
                "purge.selectors": "\(abandoned.purge.select.count)",
            ]
        )
        abandoned.continuation.resume(throwing: problem)
        whenIdle?.resume()
        whenIdle = nil
    }

    /// Thrown if there are too many purges.
    struct Wait: Error {
        /// The seconds to wait before retrying.
        let seconds: Int
        let problem: ControlProblem

        fileprivate static func tooMany(seconds: Int) -> Wait {
            let problem = ControlProblem(
                .tooManyPurges,
                "Purges exceed the limit of \(Int(PurgeRate.perSecond)) per second and \(Int(PurgeRate.burst)) at once. "
                    + "Try again in \(seconds) s, or combine several selectors in one purge.",
                limit: Int(PurgeRate.perSecond)
            )
            return Wait(seconds: seconds, problem: problem)
        }

        fileprivate static func busy(_ purge: PurgeRequest) -> Wait {
            let kind = purge.dryRun ? "dry runs" : "purges"
            let problem = ControlProblem(
                .busy,
                "\(waitingLimit) \(kind) are waiting, which is the limit. Nothing was changed. "
                    + "Try again in a moment, or combine several selectors in one purge.",
                limit: waitingLimit
            )
            return Wait(seconds: 1, problem: problem)
        }
    }
}
