/// What was removed.
public struct RemovalSummary: Sendable, Hashable {
    /// Responses removed.
    public var responses: Int
    /// Objects removed.
    public var objects: Int
    /// Bytes that they took: bodies, heads and keys, and their rows, about.
    public var bytes: Int64

    /// Makes a summary.
    public init(responses: Int = 0, objects: Int = 0, bytes: Int64 = 0) {
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
