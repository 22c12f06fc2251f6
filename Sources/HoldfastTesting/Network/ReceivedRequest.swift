public import HTTPTypes
public import NIOCore

/// A request as a ``ScriptedTransport`` got it.
public struct ReceivedRequest: Sendable, Hashable {
    /// The largest content that is recorded: 64 MiB. A request with more fails.
    public static let contentLimit = 64 << 20

    /// Method, target and fields.
    public var head: HTTPRequest
    /// The content; `nil` if there was none, or none of it was sent.
    public var content: ByteBuffer?

    /// The content as UTF-8; `nil` if there was none.
    public var text: String? { content.map { String(buffer: $0) } }

    /// A request.
    public init(head: HTTPRequest, content: ByteBuffer? = nil) {
        self.head = head
        self.content = content
    }
}
