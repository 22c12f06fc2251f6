public import HTTPCacheSemantics
public import NIOCore

/// Where raw responses are kept. The engine's only view of memory and disk.
///
/// A store reads no clock (every instant is passed in), knows no HTTP policy (what it needs to know
/// is in ``ResponseDraft``), and never deletes on reading. Any of its operations may throw; the
/// engine then goes on without it, so a failing store never fails a response.
///
/// **Variants**: one key holds several responses, told apart by their selecting fields. A new
/// response takes the place of the one with the same key and the same `Vary` and selecting fields,
/// in the commit that makes it visible.
public protocol ResponseStore: Sendable {
    /// The number of the last invalidation this store knows of. An atomic read: every exchange and
    /// every hit takes it.
    var invalidationSequence: InvalidationSequence { get }

    /// The key's stored responses where the store knows all of them without its disk: at once;
    /// `nil` says nothing either way.
    ///
    /// A non-nil answer holds the whole list of variants, and an empty one says that nothing is
    /// stored. Every invalidation whose number was in ``invalidationSequence`` before the call is
    /// in it. Bodies may be in memory or not: see ``StoredResponse/content``.
    func resident(_ key: CacheKey) -> [StoredResponse]?

    /// All stored responses of a key, in no particular order; empty when there are none.
    func lookup(_ key: CacheKey) async throws -> [StoredResponse]

    /// Opens a stored response's body, or a part of it, for reading.
    ///
    /// The body stays readable until the stream is released, even when the response is replaced,
    /// evicted or purged meanwhile. The first byte's checksum has been verified when this returns;
    /// a later chunk that is damaged makes the stream throw.
    ///
    /// - Parameter range: bytes of the stored body, within `0..<bodyLength`; `nil` for all of it.
    ///   The stream's `length` is the range's.
    /// - Returns: `nil` when the body is gone or damaged where reading begins: treat it as a miss.
    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream?

    /// Begins to store a response. Nothing is visible before ``ResponseWriter/finish()``.
    ///
    /// - Parameter fence: ``invalidationSequence`` as it was before the request was sent. If the
    ///   response's target was invalidated after it, the response is not stored.
    /// - Returns: `nil` when the store declines: too large for the budget or for a quota, more tags
    ///   than a store keeps (``ResponseDraft/tags``), opened for reading alone, its disk is behind,
    ///   or there is no room now.
    func beginWrite(_ draft: ResponseDraft, fence: InvalidationSequence) async throws -> (any ResponseWriter)?

    /// Replaces a stored response's head after a 304 (RFC 9111 §4.3.4), unless it was invalidated
    /// after `fence`, or is gone.
    ///
    /// - Parameter draft: the new head, its expiry and tags. Key, body and the time of storing stay
    ///   as they are. An invalidation by a tag that it had counts as much as one by a tag that it
    ///   gets.
    /// - Returns: the stored response as it is now, or `nil` when nothing was changed.
    func freshen(_ response: StoredResponse, with draft: ResponseDraft, fence: InvalidationSequence) async throws
        -> StoredResponse?

    /// Invalidates: durable when it returns, and every fill that began before it will not be
    /// stored.
    ///
    /// - Parameters:
    ///   - effect: what becomes of what is stored. Of two causes the greater one is kept, until the
    ///     response is freshened or replaced. An unsafe method is about targets, keys and tags: of
    ///     a prefix, or of everything, a store may take its cause for
    ///     ``InvalidationCause/unspecified``.
    ///   - now: recorded with the invalidation.
    /// - Returns: the invalidation's number.
    @discardableResult
    func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) async throws
        -> InvalidationSequence

    /// Tells of every change to what is stored, after its commit.
    var changes: StoreChangeFeed { get }
}

extension ResponseStore {
    /// Opens a stored response's whole body for reading; see ``openBody(of:range:)``.
    public func openBody(of response: StoredResponse) async throws -> BodyStream? {
        try await openBody(of: response, range: nil)
    }

    /// Invalidates for no cause that is known: a purge.
    ///
    /// - Parameter keepingForOffline: `true` marks what is stored as invalidated (it answers only
    ///   when the origin cannot be reached); `false` removes it.
    @discardableResult
    public func invalidate(_ scope: InvalidationScope, keepingForOffline: Bool, at now: Timestamp) async throws
        -> InvalidationSequence
    {
        try await invalidate(scope, keepingForOffline ? .mark(.unspecified) : .remove, at: now)
    }
}

/// What an invalidation does to what is stored. RFC 9111 §4.4
public enum InvalidationEffect: Sendable, Hashable {
    /// It is removed.
    case remove
    /// It is kept and marked (``StoredResponseHead/invalidation``).
    case mark(InvalidationCause)
}

/// A number of the store's one sequence of invalidations. It only grows, also across restarts.
public struct InvalidationSequence: Sendable, Hashable, Comparable {
    /// Its place in the sequence; 0 before the first invalidation.
    public let number: Int64
    /// The number of an invalidation, as a store counts.
    public init(_ number: Int64) { self.number = number }
    /// The earlier one is smaller.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }
}

/// What an invalidation is about.
public enum InvalidationScope: Sendable {
    /// Everything stored for a target URI, in all partitions, methods and variants.
    case target(TargetURI)
    /// Everything stored for the target URIs that begin with some bytes, in all partitions, methods
    /// and variants.
    ///
    /// A store may refuse more fills for it than those that it covers: those of the same origin
    /// that began before it.
    case prefix(TargetPrefix)
    /// One key with all its variants.
    case key(CacheKey)
    /// Everything stored under a tag (``ResponseDraft/tags``), in all partitions. Tags are compared
    /// by their bytes.
    case tag(String)
    /// Every response.
    case all
}

/// Takes a body as it arrives. Used by one task at a time.
public protocol ResponseWriter: Sendable {
    /// Takes the next bytes. What it took is readable through ``readBack(from:)`` once it is on
    /// disk.
    ///
    /// - Throws: when the store cannot go on (full, failed, over the limit for one object). The
    ///   writer is then of no use but for ``readBack(from:)`` and ``abandon()``.
    func append(_ chunk: ByteBuffer) async throws

    /// Bytes from the beginning that ``readBack(from:)`` can read.
    var readableLength: Int64 { get async }

    /// Some bytes of the unfinished body beginning at `offset` (below ``readableLength``): for
    /// readers that fell behind a fill.
    func readBack(from offset: Int64) async throws -> ByteBuffer

    /// Makes the response visible in one commit, in place of the variant it replaces.
    ///
    /// - Returns: the stored response, or `nil` when an invalidation after the fence forbids
    ///   storing it.
    func finish() async throws -> StoredResponse?

    /// Gives up; what was written is removed once this writer is released, and until then
    /// ``readBack(from:)`` goes on working, as it does after ``finish()``. Does nothing after
    /// ``finish()``.
    func abandon() async
}
