/// The operations on a store: the part of ``CacheOperations`` that needs no running engine.
///
/// A store implements it beside `ResponseStore`. The control plane uses it through an engine, the
/// command line also on a store that no process has open.
public protocol StoreOperations: Sendable {
    /// The number of the last invalidation.
    var invalidationSequence: InvalidationSequence { get }

    /// Invalidates the responses of all scopes.
    ///
    /// All of it is in force and durable when this returns, for every reader of the store. If it
    /// throws, a part of the scopes may be in force.
    ///
    /// - Parameter keepingForOffline: `true` marks the responses as invalidated, so that they are
    ///   served only if the origin is unreachable; `false` removes them.
    /// - Throws: the store's error if it cannot be written.
    func invalidate(_ scopes: [InvalidationScope], keepingForOffline: Bool) async throws -> ScopeInvalidation

    /// Counts the responses that the scopes cover, each once, and changes nothing.
    ///
    /// - Parameter limit: about the most stored responses to look at. Beyond it the numbers are
    ///   estimates. All responses are counted through an index, beyond the limit too.
    /// - Throws: the store's error if it cannot be read; `CancellationError` if the task was
    ///   cancelled.
    func count(_ scopes: [InvalidationScope], examining limit: Int) async throws -> ScopeCount

    /// Reads a page of the invalidated responses of the scopes, for a refresh.
    ///
    /// - Throws: the store's error if it cannot be read.
    func invalidated(_ scopes: [InvalidationScope], from cursor: RefreshCursor) async throws -> RefreshPage

    /// Pins the responses of all scopes that are stored now, or unpins them.
    ///
    /// A pinned response is not evicted, and the response that replaces it is pinned too. Only its
    /// removal or an unpinning ends that. All of it is durable when this returns. If it throws, a
    /// part of the responses may be changed.
    ///
    /// - Returns: the number of responses that were not as asked before.
    /// - Throws: ``PinsExceedBudget`` if pins would take too much of the store, before anything has
    ///   changed; the store's error if it cannot be written.
    func setPinned(_ isPinned: Bool, _ scopes: [InvalidationScope]) async throws -> Int

    /// The space that pinned entries take, counted through an index.
    ///
    /// - Throws: the store's error if it cannot be read.
    func pinUse() async throws -> PinUse

    /// Reads from the store, and says whether that worked and whether the store accepts writes.
    func storeCondition() async -> StoreCondition
}

/// The result of invalidating several scopes.
public struct ScopeInvalidation: Sendable, Hashable {
    /// The number of the last of these invalidations. Each scope has a number of its own.
    public var sequence: InvalidationSequence
    /// Whether every response was invalidated, because too many prefixes were under way at once.
    public var coversEverything: Bool

    /// A result.
    public init(sequence: InvalidationSequence, coversEverything: Bool = false) {
        self.sequence = sequence
        self.coversEverything = coversEverything
    }
}

/// The responses that some scopes cover.
public struct ScopeCount: Sendable, Hashable {
    /// The number of responses, each counted once.
    public var responses: Int
    /// The bytes they take: bodies, heads and keys, and about the size of their rows.
    public var bytes: Int64
    /// The responses among them that are stale or invalidated, and that can be served only while
    /// their origin is unreachable.
    public var onlyOfflineCopies: Int
    /// The responses among them that are fresh, and that may not be served stale: once they are
    /// expired, nothing can serve them without their origin.
    public var onlyWhileFresh: Int
    /// The responses among them that are pinned.
    public var pinned: Int
    /// The bytes that the pinned ones take.
    public var pinnedBytes: Int64
    /// Whether these numbers were counted. Otherwise they are estimates.
    public var isExact: Bool

    /// A count, of nothing by default.
    public init(
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
public enum StoreCondition: Sendable, Hashable {
    /// It is read and written.
    case usable
    /// It can be read, and was opened for reading alone.
    case readOnly
    /// It can be read. Its disk stopped accepting writes: it is full, for example.
    case notWritable
    /// It cannot be read; the text says why.
    case unreadable(String)
}
