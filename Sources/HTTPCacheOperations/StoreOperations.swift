package import HTTPCache

/// The operations on a store: the part of ``CacheOperations`` that needs no running engine.
///
/// A store implements this protocol in addition to `ResponseStore`. The control plane uses it
/// through an engine; the command line can also use it on a store that no process has open.
package protocol StoreOperations: Sendable {
    /// The number of the last invalidation.
    var invalidationSequence: InvalidationSequence { get }

    /// Invalidates the responses in all scopes.
    ///
    /// When this returns, all invalidations are in force for every reader of the store, and durable
    /// if the result says so. If it throws, some of the scopes may be invalidated.
    ///
    /// - Parameter keepingForOffline: whether to keep the responses. `true` marks them as
    ///   invalidated: they are validated before use, but may still be served while the origin is
    ///   unreachable. `false` removes them.
    /// - Throws: the store's error if it fails.
    func invalidate(_ scopes: [InvalidationScope], keepingForOffline: Bool) async throws -> ScopeInvalidation

    /// Counts the responses that the scopes cover, each of them once, without changing anything.
    ///
    /// - Parameter limit: the approximate maximum number of stored responses to examine. Beyond
    ///   this limit, the results are estimates. If a scope covers all responses, they are counted
    ///   through an index even beyond the limit.
    /// - Throws: the store's error if it cannot be read; `CancellationError` if the task was
    ///   canceled.
    func count(_ scopes: [InvalidationScope], examining limit: Int) async throws -> ScopeCount

    /// Counts the recorded responses of jobs that the scopes cover, by the job's name. Tags are not
    /// known, because jobs do not record them.
    ///
    /// - Throws: `CancellationError` if the task was canceled.
    func recorded(in scopes: [InvalidationScope], examining limit: Int) async throws -> [String: Int]

    /// Reads a page of the invalidated responses in the scopes, for a refresh.
    ///
    /// - Throws: the store's error if it cannot be read.
    func invalidated(_ scopes: [InvalidationScope], from cursor: RefreshCursor) async throws -> RefreshPage

    /// Pins or unpins all responses in the scopes that are currently stored.
    ///
    /// A pinned response is not evicted, and the response that replaces it is also pinned. Only its
    /// removal or an unpin ends this. When this method returns, all changes are durable. If it
    /// throws, some of the responses may have been changed.
    ///
    /// - Returns: the number of responses that changed.
    /// - Throws: ``PinsExceedBudget`` if pins would use too much of the store, in which case
    ///   nothing has changed; the store's error if it cannot be written.
    func setPinned(_ isPinned: Bool, _ scopes: [InvalidationScope]) async throws -> Int

    /// Returns the space that pinned entries use, counted through an index.
    ///
    /// - Throws: the store's error if it cannot be read.
    func pinUse() async throws -> PinUse

    /// Reads from the store, and returns whether that worked and whether the store accepts writes.
    func storeCondition() async -> StoreCondition
}

/// The result of invalidating several scopes.
package struct ScopeInvalidation: Sendable, Hashable {
    /// The number of the last of these invalidations. Each scope has its own number.
    package var sequence: InvalidationSequence
    /// Whether every response was invalidated, because too many invalidations by prefix, host or
    /// principal were in progress. Applies only to invalidations that mark.
    package var coversEverything: Bool
    /// Whether the invalidations are on disk. If not, because the disk accepts no writes, they end
    /// with the process unless the disk accepts writes first.
    package var isDurable: Bool

    /// Creates a result.
    package init(sequence: InvalidationSequence, coversEverything: Bool = false, isDurable: Bool = true) {
        self.sequence = sequence
        self.coversEverything = coversEverything
        self.isDurable = isDurable
    }
}

/// The responses that some scopes cover.
package struct ScopeCount: Sendable, Hashable {
    /// The number of responses, each counted once.
    package var responses: Int
    /// The size of these responses in bytes: bodies, heads and keys, plus the approximate size of
    /// their rows.
    package var bytes: Int64
    /// The number of these responses that are stale or invalidated and can be served only while
    /// their origin is unreachable.
    package var onlyOfflineCopies: Int
    /// The number of these responses that are fresh but may not be served stale. Once they expire,
    /// only their origin can serve them.
    package var onlyWhileFresh: Int
    /// The number of these responses that are pinned.
    package var pinned: Int
    /// The size of the pinned responses in bytes.
    package var pinnedBytes: Int64
    /// Whether the results are exact counts. If not, they are estimates.
    package var isExact: Bool

    /// Creates a count; by default, of no responses.
    package init(
        responses: Int = 0,
        bytes: Int64 = 0,
        onlyOfflineCopies: Int = 0,
        onlyWhileFresh: Int = 0,
        pinned: Int = 0,
        pinnedBytes: Int64 = 0,
        isExact: Bool = true
    ) {
        self.responses = responses
        self.bytes = bytes
        self.onlyOfflineCopies = onlyOfflineCopies
        self.onlyWhileFresh = onlyWhileFresh
        self.pinned = pinned
        self.pinnedBytes = pinnedBytes
        self.isExact = isExact
    }
}

/// Whether a store can be used.
package enum StoreCondition: Sendable, Hashable {
    /// The store can be read and written.
    case usable
    /// The store can be read, and was opened read-only.
    case readOnly
    /// The store can be read, and was opened read-only because its disk was full.
    case readOnlyOnFullDisk
    /// The store can be read, but its disk no longer accepts writes.
    case notWritable
    /// The store can be read, but its disk is full.
    case full
    /// The store can be read and written, but its disk is full: entries are evicted for new ones.
    case evicting
    /// The store can be read, but pinned entries use its whole budget.
    case fullOfPins
    /// The store can be read and written, but another folder is at its path. A restart
    /// loses its responses.
    case replaced
    /// The store cannot be read. The text has the reason.
    case unreadable(String)
}
