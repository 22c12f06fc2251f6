public import HTTPCacheSemantics
public import NIOCore

/// The parts of a stored response that a store has in memory, in addition to its head.
///
/// It is part of a ``StoredResponse`` value and exists as long as that value. A body that was in
/// memory at the lookup can be read without the store, regardless of later changes to the entry.
public final class ResidentContent: Sendable {
    /// The complete stored body; `nil` if it is only on disk.
    public let body: ByteBuffer?
    /// The first instant at which the response is stale, from its ``ResponseDraft``.
    public let freshUntil: Timestamp
    /// Values that were derived from the response and are kept while it is in memory, such as a
    /// decoded value or a head in wire format.
    public let derived: DerivedValues

    /// Creates the in-memory content of a response.
    ///
    /// - Parameter derived: the values previously derived from the same body, if a 304 brought a
    ///   new head for it.
    public init(body: ByteBuffer?, freshUntil: Timestamp, derived: DerivedValues = DerivedValues()) {
        self.derived = derived
        self.body = body
        self.freshUntil = freshUntil
    }
}
