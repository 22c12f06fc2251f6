package import HTTPCache
package import HTTPCacheOperations
import HTTPCacheSemantics
import Synchronization

extension CacheManager: StoreOperations {
    /// The number of the last invalidation that this process knows of.
    package var invalidationSequence: InvalidationSequence { responses.invalidationSequence }

    /// The maximum number of scopes in one transaction.
    private static let scopesAtATime = 256

    /// Invalidates the responses of all scopes, in transactions of at most 256 scopes.
    ///
    /// Prefixes, hosts and principals go in transactions of at most 32. Each transaction waits
    /// until earlier ones are applied: only 64 may be unfinished. Beyond that, a purge that marks
    /// covers every response. A removal first marks every response, and fails with `busy` if all 64
    /// are removals.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`, `busy`.
    @concurrent
    package func invalidate(
        _ scopes: [InvalidationScope],
        keepingForOffline: Bool
    ) async throws -> ScopeInvalidation {
        let now = now()
        let effect: InvalidationEffect = keepingForOffline ? .mark(.unspecified) : .remove
        var result = ScopeInvalidation(sequence: invalidationSequence)
        func invalidate(_ part: ArraySlice<InvalidationScope>) async throws {
            let done = try await core.invalidate(Array(part), effect, at: now)
            result.sequence = max(result.sequence, done.sequence)
            if done.coversEverything { result.coversEverything = true }
            // Each transaction first writes what earlier ones could not write, so the last decides.
            result.isDurable = done.isDurable
        }
        let (compared, found) = scopes.partitioned(by: \.isCompared)
        for part in found.chunked(atMost: Self.scopesAtATime) { try await invalidate(part) }
        for part in compared.chunked(atMost: PendingInvalidation.limit / 2) {
            try await waitForPermits(part.count)
            try await invalidate(part)
        }
        return result
    }

    /// The maximum number of times that a purge waits for earlier purges to be applied.
    private static let waits = 8

    /// Waits until the store can compare `count` more prefixes.
    ///
    /// Another purge may take the permits that a wait has freed, so each wait ends with a check.
    /// After ``waits`` waits, the caller goes ahead anyway. Its purge may then cover every
    /// response, and its result says so; or a removal fails with `busy`.
    func waitForPermits(_ count: Int) async throws {
        for _ in 0..<Self.waits {
            if try unfinishedPrefixes() + count <= PendingInvalidation.limit { return }
            try await settle()
        }
    }

    /// Performs a removal. Only a limited number of such removals may be unfinished.
    ///
    /// Another removal may take the permit that a wait has freed. Then this function waits again,
    /// up to ``waits`` times.
    func waitingForOthers(_ remove: () async throws -> Void) async throws {
        for _ in 1..<Self.waits {
            try await waitForPermits(1)
            do {
                return try await remove()
            } catch let error as StoreError where error.code == .busy {}
        }
        try await remove()
    }

    private func unfinishedPrefixes() throws -> Int {
        try core.read { connection, database in
            guard database.state.has(DatabaseState.sweepSchemaVersion) else { return 0 }
            return Int(try connection.integer("SELECT count(*) FROM prefix_invalidation") ?? 0)
        }
    }

    /// Counts the responses that the scopes cover, in short reads.
    ///
    /// Responses that are stored or removed in the meantime may or may not be counted.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`; `CancellationError` if the task was
    ///   canceled.
    @concurrent
    package func count(_ scopes: [InvalidationScope], examining limit: Int) async throws -> ScopeCount {
        var counting = ScopeCounting(core: core, now: now(), limit: max(1, limit))
        return try counting.count(scopes)
    }

    /// Counts the recorded responses of jobs that the scopes cover, among the first `limit`
    /// recorded requests of at most ``jobLimit`` jobs.
    ///
    /// A job's responses may be gone already. A job that cannot be read is left out.
    ///
    /// - Throws: `CancellationError` if the task was canceled.
    @concurrent
    package func recorded(in scopes: [InvalidationScope], examining limit: Int) async throws -> [String: Int] {
        struct Enough: Error {}
        var counts: [String: Int] = [:]
        var examined = 0
        for name in (try? jobs.names)?.prefix(Self.jobLimit) ?? [] where examined < limit {
            try Task.checkCancellation()
            var count = 0
            do {
                try jobs.read(name) { line in
                    guard case .entry(let entry) = line else { return }
                    if examined == limit { throw Enough() }
                    examined += 1
                    if entry.why == nil, scopes.contains(where: { $0.covers(entry.request) }) { count += 1 }
                }
            } catch is Enough {
            } catch { continue }
            if count > 0 { counts[name.description] = count }
        }
        return counts
    }

    /// The maximum number of jobs whose files a removal reads.
    package static let jobLimit = 1000

    /// Reads one row of the store, and returns whether that worked and whether the store accepts
    /// writes.
    @concurrent
    package func storeCondition() async -> StoreCondition {
        do {
            let writer = try core.read { connection, database in
                _ = try connection.integer("SELECT sequence FROM store WHERE id = 1")
                return database.writer
            }
            if isReadOnly { return core.isOpenedOnFullDisk ? .readOnlyOnFullDisk : .readOnly }
            if core.replacement.withLock({ $0 != nil }) { return .replaced }
            guard let writer else { return .usable }
            guard writer.hasTrouble.load(ordering: .relaxed) else {
                if writer.isFullOfPins.load(ordering: .relaxed) { return .fullOfPins }
                if writer.isEvictingForSpace { return .evicting }
                return writer.isStillFullFromOpening ? .full : .usable
            }
            guard writer.isDiskFull.load(ordering: .relaxed) else { return .notWritable }
            return writer.hasRoomAgain ? .usable : .full
        } catch {
            return .unreadable("\(error)")
        }
    }
}

extension InvalidationScope {
    /// Whether readers compare each entry with this scope until the sweep is done.
    fileprivate var isCompared: Bool {
        switch self {
        case .prefix, .host, .principal: true
        case .target, .key, .tag, .all: false
        }
    }
}

extension InvalidationScope {
    /// Whether the scope covers the responses to a request of a job.
    fileprivate func covers(_ request: JobRequest) -> Bool {
        // Stored responses have the target that the origin gets.
        covers(StoreKey(method: request.method, target: request.target))
    }
}

extension Array {
    fileprivate func partitioned(by isIn: (Element) -> Bool) -> (matching: Self, others: Self) {
        (filter(isIn), filter { !isIn($0) })
    }

    fileprivate func chunked(atMost count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
    }
}
