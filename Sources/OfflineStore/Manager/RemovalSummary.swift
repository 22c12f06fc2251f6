/// The entries that a call removed.
public struct RemovalSummary: Sendable, Hashable {
    /// The number of responses removed.
    public var responses: Int
    /// The number of objects removed.
    public var objects: Int
    /// The number of bytes that they used: bodies, heads and keys, and the approximate size of
    /// their rows.
    public var bytes: Int64

    /// Creates a summary.
    package init(responses: Int = 0, objects: Int = 0, bytes: Int64 = 0) {
        self.responses = responses
        self.objects = objects
        self.bytes = bytes
    }

    static func + (lhs: RemovalSummary, rhs: RemovalSummary) -> RemovalSummary {
        RemovalSummary(
            responses: lhs.responses + rhs.responses,
            objects: lhs.objects + rhs.objects,
            bytes: lhs.bytes + rhs.bytes
        )
    }
}
