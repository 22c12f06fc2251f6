public import HTTPCacheSemantics
public import NIOCore

/// Keeps raw responses. It is the engine's only view of memory and disk.
///
/// A store reads no clock: every instant is passed in. It knows no HTTP policy: ``ResponseDraft``
/// has what it needs to know. It never deletes on reading. Any of its operations may throw; the
/// engine then continues without it, so a failing store never fails a response.
///
/// **Writing.** ``beginWrite(_:fencingNumber:)``, ``ResponseWriter/append(_:)`` for each chunk, and
/// ``ResponseWriter/finish()`` store one entry: key, head, expiry, tags and pin from the draft, and
/// the body. Nothing is visible before `finish()`. The SQLite store writes one row of `entry`, one
/// of `chunk` for each 64 KiB of the body, and `entry_tag` rows for tags.
///
/// **Reading.** ``resident(_:)`` asks memory, ``lookup(_:)`` also the disk. Both return all
/// variants of a key, and the engine selects one. ``openBody(of:range:)`` reads a body that is not
/// in memory.
///
/// **Variants.** One key holds several responses, told apart by their selecting fields. A new
/// response replaces the one with the same key, `Vary` and selecting fields, in the commit that
/// makes it visible.
public protocol ResponseStore: Sendable {
    /// The number of the last invalidation that this store knows of. Reading it must be as cheap as
    /// an atomic read: every exchange and every hit reads it.
    var invalidationSequence: InvalidationSequence { get }

    /// The stored responses of a key, if the store knows all of them without its disk. `nil` means
    /// that the store must be asked with ``lookup(_:)``.
    ///
    /// A non-nil result holds the whole list of variants; an empty one means that nothing is
    /// stored. It reflects every invalidation that ``invalidationSequence`` included before the
    /// call. Bodies may be in memory or not: see ``StoredResponse/content``.
    func resident(_ key: CacheKey) -> [StoredResponse]?

    /// All stored responses of a key, in no particular order; empty when there are none.
    func lookup(_ key: CacheKey) async throws -> [StoredResponse]

    /// The same as ``lookup(_:)`` on the calling thread, which waits for the disk; `nil` if the
    /// store has no such way. For callers with a thread to spare and many lookups.
    ///
    /// An engine reads it once. A store that wraps another one passes it on if it may be passed by.
    var blockingLookup: (@Sendable (CacheKey) throws -> [StoredResponse])? { get }

    /// Whether writing suspends its caller while the disk works, instead of blocking its thread.
    /// Then an event loop may write, without a change of threads for each step.
    ///
    /// That covers ``beginWrite(_:fencingNumber:)`` and all functions of its writers except
    /// ``ResponseWriter/readBack(from:)``.
    var suspendsWhileWriting: Bool { get }

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
    /// - Parameter fencingNumber: ``invalidationSequence`` as it was before the request was sent.
    ///   If the response's target was invalidated after that, the response is not stored.
    /// - Returns: `nil` if the store declines: the response is too large for the budget or a quota,
    ///   or has more tags than a store keeps (``ResponseDraft/tags``); the store is open for
    ///   reading only, its disk is behind, or there is no room now.
    func beginWrite(_ draft: ResponseDraft, fencingNumber: InvalidationSequence) async throws -> (any ResponseWriter)?

    /// Replaces a stored response's head after a 304 (RFC 9111 §4.3.4), unless the response was
    /// invalidated after `fencingNumber`, or is gone.
    ///
    /// - Parameter draft: the new head, its expiry and tags. Key, body and the time of storing stay
    ///   as they are. An invalidation by one of the old tags applies as much as one by a new tag.
    /// - Returns: the stored response as it is now, or `nil` if nothing was changed.
    func freshen(_ response: StoredResponse, with draft: ResponseDraft, fencingNumber: InvalidationSequence)
        async throws
        -> StoredResponse?

    /// Removes one response that should not have been stored, unless another has replaced it.
    ///
    /// That is no invalidation: other variants stay, in-flight fetches are stored, and a store that
    /// shares its invalidations tells no other node. The removal is durable when this returns.
    ///
    /// - Parameter response: known by its body, whatever its head is now.
    /// - Returns: whether it was there.
    @discardableResult
    func withdraw(_ response: StoredResponse) async throws -> Bool

    /// Invalidates. The invalidation is durable when this returns, and no in-flight fetch that
    /// began before it will be stored.
    ///
    /// - Parameters:
    ///   - effect: whether stored responses are removed or marked. Of two causes the greater one is
    ///     kept, until the response is freshened or replaced. An unsafe method invalidates targets,
    ///     keys and tags; for a prefix or everything, a store may record
    ///     `InvalidationCause.unspecified` instead.
    ///   - now: recorded with the invalidation.
    /// - Returns: the invalidation's number.
    @discardableResult
    func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) async throws
        -> InvalidationSequence

    /// The name by which the store's tools show the responses of a key, for logs; `nil` if there is
    /// none. It reads nothing from a disk.
    func shortID(of key: CacheKey) -> String?

    /// Publishes every change to the stored responses, after its commit.
    var changes: StoreChangeFeed { get }
}

extension ResponseStore {
    /// `nil`
    public var blockingLookup: (@Sendable (CacheKey) throws -> [StoredResponse])? { nil }

    /// `false`
    public var suspendsWhileWriting: Bool { false }

    /// `nil`
    public func shortID(of key: CacheKey) -> String? { nil }

    /// Opens a stored response's whole body for reading; see ``openBody(of:range:)``.
    public func openBody(of response: StoredResponse) async throws -> BodyStream? {
        try await openBody(of: response, range: nil)
    }

    /// Invalidates without a known cause: a purge.
    ///
    /// - Parameter keepingForOffline: `true` marks the stored responses as invalidated, so that
    ///   they are served only if the origin cannot be reached; `false` removes them.
    @discardableResult
    public func invalidate(_ scope: InvalidationScope, keepingForOffline: Bool, at now: Timestamp) async throws
        -> InvalidationSequence
    {
        try await invalidate(scope, keepingForOffline ? .mark(.unspecified) : .remove, at: now)
    }
}

/// Takes a body as it arrives. One task at a time uses it.
public protocol ResponseWriter: Sendable {
    /// Takes the next bytes. They can be read through ``readBack(from:)`` once they are on disk.
    ///
    /// - Throws: if the store cannot continue (full, failed, over the limit for one object). Then
    ///   only ``readBack(from:)`` and ``abandon()`` still work.
    func append(_ chunk: ByteBuffer) async throws

    /// The number of bytes, from the beginning, that ``readBack(from:)`` can read.
    var readableLength: Int64 { get async }

    /// Some bytes of the unfinished body, from `offset` (below ``readableLength``). For readers
    /// that fell behind an in-flight fetch.
    func readBack(from offset: Int64) async throws -> ByteBuffer

    /// Makes the response visible in one commit, in place of the variant that it replaces.
    ///
    /// - Returns: the stored response, or `nil` if an invalidation after the fencing number forbids
    ///   storing it.
    func finish() async throws -> StoredResponse?

    /// Gives up. The written bytes are removed once this writer is released. Until then
    /// ``readBack(from:)`` continues to work, as it does after ``finish()``. Does nothing after
    /// ``finish()``.
    func abandon() async
}
