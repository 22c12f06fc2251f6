public import HTTPCache

/// The result of a purge, or of its dry run.
public struct PurgeResult: Sendable, Hashable, Codable {
    /// The responses that the purge affected. Each counts once.
    public struct Matched: Sendable, Hashable, Codable {
        /// The number of responses.
        public var responses: Int
        /// The bytes they use in the store.
        public var bytes: Int64
        /// How many were already stale or invalidated, and would only have been served while their
        /// origin was unreachable.
        public var onlyOfflineCopies: Int
        /// How many were fresh and may not be served stale. Once expired, they cannot be served
        /// without their origin. `nil` if the responses are removed.
        public var onlyWhileFresh: Int?
        /// Whether the numbers were counted; `false` if they are estimates.
        public var exact: Bool

        /// Creates the numbers from a count.
        public init(_ count: ScopeCount, of action: PurgeRequest.Action) {
            responses = count.responses
            bytes = count.bytes
            onlyOfflineCopies = count.onlyOfflineCopies
            onlyWhileFresh = action == .expire ? count.onlyWhileFresh : nil
            exact = count.isExact
        }
    }

    /// The purge's number in the store's sequence of invalidations; `nil` for a dry run.
    public var sequence: Int64?
    /// The action on the responses.
    public var action: PurgeRequest.Action
    /// Whether this was a dry run.
    public var dryRun: Bool
    /// The responses that the purge affected.
    public var matched: Matched
    /// Set if too many prefixes were being purged at once, so everything was expired instead.
    public var coversEverything: Bool?
    /// The most responses that will be fetched again in the background; `nil` if none are.
    public var refreshing: Int?
    /// How far the purge has reached other nodes; `nil` if the gateway shares nothing.
    public var reached: PurgeLevel?
    /// The position in the fleet log that includes all purges of this node; `nil` while they wait.
    public var position: String?
    /// The number of replicas that confirmed it; `nil` if none were asked.
    public var replicas: Int?
    /// The nodes that have it; `nil` if this was not checked.
    public var nodes: PurgeReach.Nodes?
    /// An explanation for people.
    public var note: String?
}

extension StoreOperations {
    /// The most stored responses that a purge examines for its count, so that it is acknowledged
    /// within milliseconds.
    package static var purgeExamination: Int { 10_000 }
    /// The most stored responses that a dry run examines for its count.
    package static var dryRunExamination: Int { 100_000 }

    /// Counts the responses that a purge affects, and purges them unless it is a dry run. The purge
    /// is in effect and durable when this returns.
    ///
    /// - Throws: ``ControlProblem`` if a selector is invalid; the store's errors.
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
