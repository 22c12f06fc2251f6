import HTTPCache
import HTTPCacheSemantics
import Logging

/// Takes purges one by one: limits their rate, repeats the result of a repeated one, performs it,
/// and keeps the history.
///
/// One purge at a time is performed, in the order of arrival. So the history is in the order of the
/// store's sequence when a client reads it, and several clients together do not exceed what the
/// store can compare at a time.
actor PurgeCoordinator {
    let operations: any StoreOperations
    /// `nil` if what is purged cannot be fetched again.
    let refreshes: (any RefreshOperations)?
    private let clock: any WallClock
    private let logger: Logger
    private let purges = Limiter(permits: 1, waitingLimit: waitingLimit)
    private let counts = Limiter(permits: 2, waitingLimit: waitingLimit)
    private var rate = PurgeRate()
    private var repeated = IdempotencyTable<PurgeResult>()
    private var history: PurgeHistory
    /// For metrics.
    private(set) var tally = PurgeTally()
    /// The purge that is performed now.
    private var underWay: UnderWay?
    private var isEnding = false
    private var whenIdle: CheckedContinuation<Void, Never>?

    private struct UnderWay {
        var purge: PurgeRequest
        var client: String
        var continuation: CheckedContinuation<PurgeResult, any Error>
    }

    /// The most purges that wait, and the most dry runs: as many as the control plane has
    /// connections, on the socket and on the port together. Clients of the gateway come on top.
    static let waitingLimit = 128

    /// - Parameter sequence: the number of the last invalidation so far.
    init(
        _ operations: any StoreOperations,
        refreshes: (any RefreshOperations)? = nil,
        since sequence: Int64,
        clock: any WallClock,
        logger: Logger
    ) {
        self.operations = operations
        self.refreshes = refreshes
        self.clock = clock
        self.logger = logger
        history = PurgeHistory(since: sequence)
    }

    /// How many purges wait, and how many dry runs.
    nonisolated var waiting: (purges: Int, counts: Int) { (purges.waiting, counts.waiting) }

    /// The purges with greater numbers than `sequence`.
    func purges(after sequence: Int64, atMost count: Int) -> PurgeHistory.Page {
        history.page(after: sequence, atMost: count)
    }

    /// The last purges.
    func purges(last count: Int) -> PurgeHistory.Page { history.page(last: count) }

    /// Performs a purge.
    ///
    /// A purge continues if its task is cancelled; a dry run ends.
    ///
    /// - Parameters:
    ///   - key: the request's idempotency key.
    ///   - client: who asks, for log and history.
    /// - Throws: ``ControlProblem``; ``Wait`` if there were too many; `CancellationError`.
    @concurrent
    nonisolated func purge(
        _ purge: PurgeRequest,
        key: IdempotencyKey? = nil,
        by client: String
    ) async throws -> PurgeResult {
        // An invalid purge takes no permit. It may have 1,000 selectors, so it is checked outside
        // the actor.
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
        } catch Limiter.Refusal.isFull {
            reject(purge)
            // Clients that come again do not use up what others may purge.
            rate.giveBack()
            throw Wait.busy(purge)
        } catch Limiter.Refusal.hasEnded {
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

    // MARK: The purge that is performed

    /// Performs a purge that has its turn.
    func perform(_ purge: PurgeRequest, by client: String) async throws -> PurgeResult {
        // It may have got its turn just before the end.
        if isEnding {
            reject(purge)
            throw Self.endingBefore
        }
        return try await withCheckedThrowingContinuation { continuation in
            underWay = UnderWay(purge: purge, client: client, continuation: continuation)
            // No child of the client's task: a purge is not left half done because its client left.
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
            // It may have been abandoned.
            guard let purged = underWay.take() else { return }
            tally.add(purged.purge, .ok)
            record(purged.purge, result, by: purged.client)
            purged.continuation.resume(returning: result)
        case .failure(let error):
            // The store may be slow to say how it is. Nothing is recorded before that, because the
            // purge may be abandoned meanwhile, which records it too.
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
        logger.notice(
            "Purged",
            metadata: [
                "control.client": "\(client)", "purge.action": "\(purge.action.rawValue)",
                "purge.selectors": "\(purge.select.count)", "purge.responses": "\(result.matched.responses)",
                "purge.sequence": "\(sequence)", "purge.reason": "\(purge.reason ?? "")",
            ]
        )
    }

    /// The problem for the client.
    private func problem(of error: any Error) async -> ControlProblem {
        if let known = error as? ControlProblem { return known }
        if await operations.storeCondition() == .readOnly {
            return ControlProblem(
                .storeReadOnly,
                "The store is read-only, so nothing was purged: \(error) Purge through the process that writes to it."
            )
        }
        return ControlProblem(
            .storeFailed,
            "The purge was not completed, but part of it may be in force: \(error) Repeat it; purging twice does no harm."
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

    /// Ends the coordinator: purges that wait are rejected, and the one that is performed gets a
    /// limited time. Beyond it its client is told that it is not acknowledged.
    ///
    /// - Parameter limit: how long to wait for it.
    func end(within limit: Duration, _ clock: any Clock<Duration> = ContinuousClock()) async {
        isEnding = true
        purges.end()
        counts.end()
        guard underWay != nil else { return }
        // Not a child of this task: it must end the wait for what cannot be cancelled.
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

    /// There were too many purges.
    struct Wait: Error {
        /// When to try again.
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
                "\(waitingLimit) \(kind) are waiting, the limit. Nothing was changed. "
                    + "Try again in a moment, or combine several selectors in one purge.",
                limit: waitingLimit
            )
            return Wait(seconds: 1, problem: problem)
        }
    }
}
