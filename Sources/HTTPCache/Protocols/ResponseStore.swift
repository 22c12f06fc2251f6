public import HTTPCacheSemantics
public import NIOCore

/// Keeps raw responses. It is the engine's only access to memory and disk.
///
/// A store does not read a clock: every time is passed in. It does not know HTTP policy, because
/// ``ResponseDraft`` contains everything it needs. A read never deletes a response. Any operation
/// may throw; the engine then continues without the store, so a failing store never fails a
/// response.
///
/// **Writing.** ``beginWrite(_:fencingNumber:)``, ``StoredResponseWriter/append(_:)`` for each
/// chunk, and ``StoredResponseWriter/finish()`` store one entry: key, head, expiry, tags and pin
/// from the draft, and the body. Nothing is visible before `finish()`. The SQLite store writes one
/// row of `entry`, one of `chunk` for each 64 KiB of the body, and `entry_tag` rows for tags.
///
/// **Reading.** ``resident(_:)`` searches only memory; ``lookup(_:)`` also searches the disk. Both
/// return all variants of a key, and the engine selects one. ``openBody(of:range:)`` reads a body
/// that is not in memory.
///
/// **Variants.** A key can have several responses, which differ in their selecting header fields. A
/// new response replaces the stored response that has the same key, `Vary` and selecting header
/// fields, in the commit that makes the new response visible.
public protocol ResponseStore: Sendable {
    /// The number of the last invalidation that this store knows of. Reading it must be as cheap as
    /// an atomic read, because every exchange and every hit reads it.
    var invalidationSequence: InvalidationSequence { get }

    /// Returns the stored responses of a key, if the store knows all of them without reading its
    /// disk. If this returns `nil`, call ``lookup(_:)``.
    ///
    /// A non-nil result is the complete list of variants; an empty one means that nothing is
    /// stored. It reflects every invalidation that ``invalidationSequence`` included before the
    /// call. Bodies may or may not be in memory: see ``StoredResponse/content``.
    func resident(_ key: StoreKey) -> [StoredResponse]?

    /// Returns all stored responses of a key, in no particular order; empty if there are none.
    func lookup(_ key: StoreKey) async throws -> [StoredResponse]

    /// Performs ``lookup(_:)`` on the calling thread, which waits for the disk; `nil` if the store
    /// does not support this. For callers that have a spare thread and many lookups.
    ///
    /// An engine reads this property once. A store that wraps another store returns that store's
    /// function only if callers may bypass the wrapper.
    var blockingLookup: (@Sendable (StoreKey) throws -> [StoredResponse])? { get }

    /// Performs ``lookup(_:)`` on the calling thread, if that needs no waiting; `nil` if the store
    /// does not support this. For callers whose thread must not be blocked, such as an event loop.
    ///
    /// The function returns `nil` if it would have to wait, or if it fails. It takes a few
    /// microseconds. The engine reads this property under the same conditions as
    /// ``blockingLookup``, which must not be `nil` if this is not.
    var immediateLookup: (@Sendable (StoreKey) -> [StoredResponse]?)? { get }

    /// Whether writing suspends its caller while the disk works, instead of blocking its thread. If
    /// so, an event loop may write without a thread switch for each step.
    ///
    /// This covers ``beginWrite(_:fencingNumber:)`` and all functions of its writers except
    /// ``StoredResponseWriter/readBack(from:)``.
    var suspendsWhileWriting: Bool { get }

    /// Opens a stored response's body, or part of it, for reading.
    ///
    /// The body stays readable until the stream is released, even if the response is replaced,
    /// evicted or purged in the meantime. When this returns, the chunk with the first byte has
    /// passed its checksum. If a later chunk is damaged, the stream throws.
    ///
    /// - Parameter range: bytes of the stored body, within `0..<bodyLength`; `nil` for all of it.
    ///   The stream's `length` is the length of the range.
    /// - Returns: `nil` if the body no longer exists or is damaged where reading begins. Treat it
    ///   as a miss.
    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream?

    /// Starts storing a response. Nothing is visible before ``StoredResponseWriter/finish()``.
    ///
    /// - Parameter fencingNumber: ``invalidationSequence`` before the request was sent. If the
    ///   response's target was invalidated after that, the response is not stored.
    /// - Returns: `nil` if the store declines, for one of these reasons:
    ///   - the response is too large for the budget or a quota
    ///   - the response exceeds the limits for tags (``ResponseDraft/tags``)
    ///   - the store is read-only
    ///   - the disk cannot keep up with the writes
    ///   - there is no room at the moment
    func beginWrite(_ draft: ResponseDraft, fencingNumber: InvalidationSequence) async throws -> (
        any StoredResponseWriter
    )?

    /// Replaces a stored response's head after a 304 (RFC 9111 §4.3.4), unless the response was
    /// invalidated after `fencingNumber`, or no longer exists.
    ///
    /// - Parameter draft: the new head, its expiry and tags. The key, the body and the storage time
    ///   do not change. Invalidations by the old tags count as well as invalidations by the new
    ///   tags.
    /// - Returns: the stored response after the change, or `nil` if the store made no change.
    func freshen(_ response: StoredResponse, with draft: ResponseDraft, fencingNumber: InvalidationSequence)
        async throws
        -> StoredResponse?

    /// Removes one response that should not have been stored, unless another has replaced it.
    ///
    /// This is not an invalidation: other variants stay, in-flight fetches are still stored, and a
    /// store that shares its invalidations does not notify other nodes. The removal is durable when
    /// this returns.
    ///
    /// - Parameter response: identified by its body, whatever its current head.
    /// - Returns: whether the response existed.
    @discardableResult
    func withdraw(_ response: StoredResponse) async throws -> Bool

    /// Invalidates stored responses. The invalidation is durable when this returns, and no
    /// in-flight fetch that began before it will be stored.
    ///
    /// - Parameters:
    ///   - effect: whether stored responses are removed or marked. If a response is marked twice,
    ///     the greater cause is kept until the response is freshened or replaced. An unsafe method
    ///     invalidates targets, keys and tags; for a prefix or everything, a store may record
    ///     `InvalidationCause.unspecified` instead.
    ///   - now: recorded with the invalidation.
    /// - Returns: the invalidation's number.
    @discardableResult
    func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) async throws
        -> InvalidationSequence

    /// Returns the ID that the store's tools show for the responses of a key, for logs; `nil` if
    /// there is none. Does not read the disk.
    func shortID(of key: StoreKey) -> String?

    /// Notes that a stale response was served because its origin could not be asked, or failed. A
    /// store that evicts responses may keep such a response longer. This must not wait.
    func noteNeeded(_ response: StoredResponse)

    /// Publishes every change to the stored responses, after its commit.
    var changes: StoreChangeFeed { get }
}

extension ResponseStore {
    /// `nil`
    public var blockingLookup: (@Sendable (StoreKey) throws -> [StoredResponse])? { nil }

    /// `nil`
    public var immediateLookup: (@Sendable (StoreKey) -> [StoredResponse]?)? { nil }

    /// `false`
    public var suspendsWhileWriting: Bool { false }

    /// `nil`
    public func shortID(of key: StoreKey) -> String? { nil }

    /// Does nothing.
    public func noteNeeded(_ response: StoredResponse) {}

    /// Opens a stored response's whole body for reading; see ``openBody(of:range:)``.
    public func openBody(of response: StoredResponse) async throws -> BodyStream? {
        try await openBody(of: response, range: nil)
    }

    /// Invalidates without a known cause: a purge.
    ///
    /// - Parameter keepingForOffline: `true` marks the stored responses as invalidated: they are
    ///   validated before use, but may still be served while the origin is unreachable. `false`
    ///   removes them.
    @discardableResult
    public func invalidate(_ scope: InvalidationScope, keepingForOffline: Bool, at now: Timestamp) async throws
        -> InvalidationSequence
    {
        try await invalidate(scope, keepingForOffline ? .mark(.unspecified) : .remove, at: now)
    }
}

/// Stores a body as it arrives. Only one task at a time may use it.
public protocol StoredResponseWriter: Sendable {
    /// Adds the next bytes of the body. They can be read through ``readBack(from:)`` once they are
    /// on disk.
    ///
    /// - Throws: if the store cannot continue (full, failed, or over the limit for one object).
    ///   After that, only ``readBack(from:)`` and ``abandon()`` work.
    func append(_ chunk: ByteBuffer) async throws

    /// The number of bytes, from the beginning, that ``readBack(from:)`` can read.
    var readableLength: Int64 { get async }

    /// Returns bytes of the unfinished body, starting at `offset`, which is less than
    /// ``readableLength``. For readers that fell behind an in-flight fetch.
    func readBack(from offset: Int64) async throws -> ByteBuffer

    /// Makes the response visible in one commit. The response replaces the stored response of the
    /// same variant, if there is one.
    ///
    /// - Returns: the stored response, or `nil` if it was not stored, for example because an
    ///   invalidation after the fencing number forbids that.
    func finish() async throws -> StoredResponse?

    /// Discards the response. The written bytes are removed once this writer is released. Until
    /// then ``readBack(from:)`` continues to work, as it does after ``finish()``. Does nothing
    /// after ``finish()``.
    func abandon() async
}
