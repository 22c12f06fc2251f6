public import HTTPCacheSemantics
public import NIOCore

/// The parts of a stored response that a store has in memory, beside its head.
///
/// It comes with a ``StoredResponse`` and lives as long as that does. A body that was there at the
/// lookup can be read without asking the store again, whatever happens to the entry meanwhile.
public final class ResidentContent: Sendable {
    /// The whole stored body; `nil` if it is only on disk.
    public let body: ByteBuffer?
    /// The first instant at which the response is stale, from its ``ResponseDraft``.
    public let freshUntil: Timestamp
    /// Values that were derived from the response and are kept while it is in memory: a decoded
    /// value, or a head in wire form.
    public let derived: DerivedValues

    /// The content in memory of a response.
    ///
    /// - Parameter derived: the values derived from the same body before, if a 304 brought a new
    ///   head for it.
    public init(body: ByteBuffer?, freshUntil: Timestamp, derived: DerivedValues = DerivedValues()) {
        self.derived = derived
        self.body = body
        self.freshUntil = freshUntil
    }
}
