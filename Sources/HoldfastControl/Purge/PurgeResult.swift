public import HTTPCache

/// The result of a purge, or of its dry run.
public struct PurgeResult: Sendable, Hashable, Codable {
    /// The responses that it concerned. Each is counted once.
    public struct Matched: Sendable, Hashable, Codable {
        /// Their number.
        public var responses: Int
        /// The bytes they take in the store.
        public var bytes: Int64
        /// Those that were stale or invalidated before, and that only an unreachable origin would
        /// have brought back into use.
        public var onlyOfflineCopies: Int
        /// Those that were fresh and may not be served stale: nothing serves them without their
        /// origin once they are expired. `nil` if they are removed.
        public var onlyWhileFresh: Int?
        /// Whether these numbers were counted. Otherwise they are estimates.
        public var exact: Bool

        /// The numbers of a count.
        public init(_ count: ScopeCount, of action: PurgeRequest.Action) {
            responses = count.responses
            bytes = count.bytes
            onlyOfflineCopies = count.onlyOfflineCopies
            onlyWhileFresh = action == .expire ? count.onlyWhileFresh : nil
            exact = count.isExact
        }
    }

    /// The number of the purge in the store's sequence of invalidations; `nil` for a dry run.
    public var sequence: Int64?
    /// The action on the responses.
    public var action: PurgeRequest.Action
    /// Whether nothing was changed.
    public var dryRun: Bool
    /// The responses that it concerned.
    public var matched: Matched
    /// Set if too many prefixes were being purged at once, and everything was expired instead.
    public var coversEverything: Bool?
    /// The most responses that are fetched again in the background; `nil` if none are.
    public var refreshing: Int?
    /// How far it has come to other nodes; `nil` if the gateway shares nothing.
    public var reached: PurgeLevel?
    /// The place in the fleet log up to which all purges of this node are there; `nil` while they
    /// wait.
    public var position: String?
    /// The replicas that confirmed it; `nil` if none were asked.
    public var replicas: Int?
    /// The nodes that have it; `nil` if they were not looked at.
    public var nodes: PurgeReach.Nodes?
    /// A sentence for people about that.
    public var note: String?
}

extension StoreOperations {
    /// The most stored responses that a purge examines to count them, so that it is acknowledged
    /// within milliseconds.
    package static var purgeExamination: Int { 10_000 }
    /// The same for a dry run.
    package static var dryRunExamination: Int { 100_000 }

    /// Counts what a purge concerns, and purges it unless it is a dry run. It is in force and
    /// durable when this returns.
    ///
    /// - Throws: ``ControlProblem`` if a selector is not valid; the store's errors.
    public func perform(_ purge: PurgeRequest) async throws -> PurgeResult {
        if purge.refresh != nil { throw ControlProblem.refreshNeedsGateway }
        let scopes = try purge.scopes()
        let limit = purge.dryRun ? Self.dryRunExamination : Self.purgeExamination
        let count = try await count(scopes, examining: limit)
        var result = PurgeResult(action: purge.action, dryRun: purge.dryRun, matched: .init(count, of: purge.action))
        guard !purge.dryRun else { return result }
        let done = try await invalidate(scopes, keepingForOffline: purge.action == .expire)
        result.sequence = done.sequence.number
        if done.coversEverything { result.coversEverything = true }
        return result
    }
}
