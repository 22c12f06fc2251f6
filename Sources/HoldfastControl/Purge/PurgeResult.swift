import HTTPCache
package import HTTPCacheOperations

/// The result of a purge, or of its dry run.
package struct PurgeResult: Sendable, Hashable, Codable {
    /// The numbers of responses that a purge affects. A response counts once, even if several
    /// selectors match it.
    package struct Matched: Sendable, Hashable, Codable {
        /// The number of responses.
        package var responses: Int
        /// The number of bytes that the responses use in the store.
        package var bytes: Int64
        /// The number of responses that were already stale or invalidated, so that they would be
        /// served only while their origin is unreachable.
        package var onlyOfflineCopies: Int
        /// The number of responses that were fresh but must not be served stale. Once expired, they
        /// cannot be served without their origin. `nil` if the responses are removed.
        package var onlyWhileFresh: Int?
        /// Whether the numbers are exact; `false` if they are estimates.
        package var exact: Bool

        /// Creates the numbers from a count.
        package init(_ count: ScopeCount, of action: PurgeRequest.Action) {
            responses = count.responses
            bytes = count.bytes
            onlyOfflineCopies = count.onlyOfflineCopies
            onlyWhileFresh = action == .expire ? count.onlyWhileFresh : nil
            exact = count.isExact
        }
    }

    /// The URLs and prefixes at origins that a purge selects for the URLs and prefixes that clients
    /// request. They may repeat those of the request.
    package struct StoredUnder: Sendable, Hashable, Codable {
        /// The URLs at origins.
        package var urls: [String]
        /// The prefixes at origins.
        package var prefixes: [String]

        /// Creates a list of URLs and prefixes.
        package init(urls: [String], prefixes: [String]) { (self.urls, self.prefixes) = (urls, prefixes) }
    }

    /// The purge's sequence number among the store's invalidations; `nil` for a dry run.
    package var sequence: Int64?
    /// The action on the responses.
    package var action: PurgeRequest.Action
    /// Whether this was a dry run.
    package var dryRun: Bool
    /// The responses that the purge affected.
    package var matched: Matched
    /// The prefixes at origins that the purge covers for prefixes that clients request; `nil` if
    /// there are none.
    package var covers: [PurgeCoverage]?
    /// The URLs and prefixes at origins that the dry run also looked for; `nil` for a purge, and if
    /// the request has neither URLs nor prefixes.
    package var storedUnder: StoredUnder?
    /// The numbers of recorded responses of jobs that a removal covers, by the job's name; `nil` if
    /// there are none, or if the responses are expired, because a replay serves them all the same.
    package var jobs: [String: Int]?
    /// Whether the purge is on disk. If `false`, because the disk is full or read-only, it is in
    /// force until the process ends, and written if the disk accepts writes before. `nil` for a dry
    /// run.
    package var durable: Bool?
    /// `true` if everything was expired, because there were too many prefix purges at once;
    /// otherwise `nil`.
    package var coversEverything: Bool?
    /// The maximum number of responses that will be fetched again in the background; `nil` if no
    /// refresh was requested.
    package var refreshing: Int?
    /// The level that the purge has reached in the fleet; `nil` if the gateway does not share
    /// purges.
    package var reached: PurgeLevel?
    /// The position in the fleet log up to which it contains all purges of this node; `nil` while
    /// purges are waiting to be written.
    package var position: String?
    /// The number of replicas that confirmed the purge; `nil` if none had to confirm it.
    package var replicas: Int?
    /// The nodes that have applied the purge; `nil` if this was not checked.
    package var nodes: PurgeReach.Nodes?
    /// A note for people about the level that the purge has reached; `nil` if there is none.
    package var note: String?
}

extension StoreOperations {
    /// The maximum number of stored responses, and of recorded requests of jobs, that a purge
    /// examines to count the affected ones. The limit lets the gateway acknowledge the purge within
    /// milliseconds.
    package static var purgeExamination: Int { 10_000 }
    /// The maximum numbers that a dry run examines.
    package static var dryRunExamination: Int { 100_000 }

    /// Counts the responses that a purge affects, and purges them unless it is a dry run. When this
    /// function returns, the purge is in effect. ``PurgeResult/durable`` says whether it is also on
    /// disk.
    ///
    /// - Throws: ``ControlProblem`` if a selector is invalid; the store's errors.
    package func perform(_ purge: PurgeRequest) async throws -> PurgeResult {
        if purge.refresh != nil { throw ControlProblem.refreshNeedsGateway }
        let scopes = try purge.scopes()
        let limit = purge.dryRun ? Self.dryRunExamination : Self.purgeExamination
        let count = try await count(scopes, examining: limit)
        var result = PurgeResult(action: purge.action, dryRun: purge.dryRun, matched: .init(count, of: purge.action))
        if !purge.coverage.isEmpty { result.covers = purge.coverage }
        if purge.dryRun { result.storedUnder = purge.storedUnder }
        if !purge.dryRun {
            let done = try await invalidate(scopes, keepingForOffline: purge.action == .expire)
            result.sequence = done.sequence.number
            result.durable = done.isDurable
            if done.coversEverything { result.coversEverything = true }
        }
        // Last, so that the purge is in effect before files are read. It is reported even if its
        // caller has left.
        if purge.action == .remove, count.responses > 0, let jobs = try? await recorded(in: scopes, examining: limit) {
            if !jobs.isEmpty { result.jobs = jobs }
        }
        return result
    }
}
