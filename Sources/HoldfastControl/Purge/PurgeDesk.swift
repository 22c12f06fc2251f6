import Crypto
import HTTPCache
import HTTPCacheSemantics
import Logging

/// Takes purges one by one: limits their rate, repeats the result of a repeated one, performs it,
/// and keeps the history.
actor PurgeDesk {
    private let operations: any StoreOperations
    private let clock: any WallClock
    private let logger: Logger
    private var rate = PurgeRate()
    private var repeated = IdempotencyTable<PurgeResult>()
    private var history: PurgeHistory

    /// - Parameter sequence: the number of the last invalidation so far.
    init(_ operations: any StoreOperations, since sequence: Int64, clock: any WallClock, logger: Logger) {
        self.operations = operations
        self.clock = clock
        self.logger = logger
        history = PurgeHistory(since: sequence)
    }

    /// The longest idempotency key, in bytes.
    static let maximumKey = 255

    /// The purges with greater numbers than `sequence`.
    func purges(after sequence: Int64, atMost count: Int) -> PurgeHistory.Page {
        history.page(after: sequence, atMost: count)
    }

    /// Performs a purge.
    ///
    /// - Parameters:
    ///   - json: the purge.
    ///   - key: the request's idempotency key.
    ///   - client: who asks, for log and history.
    /// - Throws: ``ControlProblem``; ``Wait`` if there were too many.
    func purge(_ json: [UInt8], key: String?, by client: String) async throws -> PurgeResult {
        if let seconds = rate.take(at: clock.now()) { throw Wait(seconds: seconds) }
        guard let key else { return try await perform(PurgeRequest(json: json), by: client) }
        guard (1...Self.maximumKey).contains(key.utf8.count) else {
            throw ControlProblem(
                .invalidRequest,
                "'Idempotency-Key' has \(key.utf8.count) bytes; it has 1 to \(Self.maximumKey). Use a UUID.",
                field: "Idempotency-Key",
                value: key,
                limit: Self.maximumKey
            )
        }
        switch repeated.begin(key, digest: Array(SHA256.hash(data: json)), at: clock.now()) {
        case .replay(let result): return result
        case .isUnderWay:
            throw ControlProblem(
                .keyInUse,
                "A purge with the 'Idempotency-Key' '\(ControlProblem.shown(key))' is under way. Repeat the request in a moment.",
                field: "Idempotency-Key",
                value: key
            )
        case .isAnother:
            throw ControlProblem(
                .keyReused,
                "Another purge had the 'Idempotency-Key' '\(ControlProblem.shown(key))' within the last hour. Use a new key.",
                field: "Idempotency-Key",
                value: key
            )
        case .perform: break
        }
        do {
            let result = try await perform(PurgeRequest(json: json), by: client)
            repeated.finish(key, with: result)
            return result
        } catch {
            repeated.finish(key, with: nil)
            throw error
        }
    }

    /// Performs a purge that came another way than as JSON.
    ///
    /// - Throws: ``ControlProblem``; ``Wait`` if there were too many.
    func purge(_ purge: PurgeRequest, by client: String) async throws -> PurgeResult {
        if let seconds = rate.take(at: clock.now()) { throw Wait(seconds: seconds) }
        return try await perform(purge, by: client)
    }

    private func perform(_ purge: PurgeRequest, by client: String) async throws -> PurgeResult {
        let now = clock.now()
        let result: PurgeResult
        do {
            result = try await operations.perform(purge)
        } catch let problem as ControlProblem {
            throw problem
        } catch {
            logger.error("Purge failed", metadata: ["control.client": "\(client)", "error": "\(error)"])
            throw ControlProblem(
                .storeFailed,
                "The purge is not acknowledged, and a part of it may be in force: \(error) Repeat it; purging twice does no harm."
            )
        }
        guard let sequence = result.sequence else { return result }
        history.append(
            PurgeHistory.Record(
                sequence: sequence,
                at: now.milliseconds,
                by: client,
                action: purge.action,
                select: purge.select.redacted,
                reason: purge.reason,
                matched: result.matched
            )
        )
        logger.notice(
            "Purged",
            metadata: [
                "control.client": "\(client)", "purge.action": "\(purge.action.rawValue)",
                "purge.selectors": "\(purge.select.count)", "purge.responses": "\(result.matched.responses)",
                "purge.sequence": "\(sequence)", "purge.reason": "\(purge.reason ?? "")",
            ]
        )
        return result
    }

    /// There were too many purges.
    struct Wait: Error {
        /// When to try again.
        let seconds: Int

        var problem: ControlProblem {
            ControlProblem(
                .tooManyPurges,
                "More than \(Int(PurgeRate.perSecond)) purges a second have come; the limit at once is \(Int(PurgeRate.burst)). "
                    + "Try again in \(seconds) s, or put several selectors into one purge.",
                limit: Int(PurgeRate.perSecond)
            )
        }
    }
}
