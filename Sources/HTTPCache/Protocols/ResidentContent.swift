public import HTTPCacheSemantics
public import NIOCore

/// What a store has in memory of a stored response, beside its head.
///
/// It comes with a ``StoredResponse`` and lives as long as that does: a body that was there when
/// the response was looked up is readable without asking the store again, whatever happens to the
/// entry meanwhile.
public final class ResidentContent: Sendable {
    /// The whole stored body; `nil` where it is only on disk.
    public let body: ByteBuffer?
    /// The first instant at which the response is stale, as its ``ResponseDraft`` said.
    public let freshUntil: Timestamp
    /// What was made of the response and is worth keeping as long as it is in memory: a decoded
    /// value, a head in wire form.
    public let derived: DerivedValues

    /// What is in memory of a response.
    ///
    /// - Parameter derived: what was made of the same body before, where a 304 brought another head
    ///   for it.
    public init(body: ByteBuffer?, freshUntil: Timestamp, derived: DerivedValues = DerivedValues()) {
        self.derived = derived
        self.body = body
        self.freshUntil = freshUntil
    }
}
