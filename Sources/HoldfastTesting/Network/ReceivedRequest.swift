public import HTTPTypes
public import NIOCore

/// A request as a ``ScriptedTransport`` received it.
public struct ReceivedRequest: Sendable, Hashable {
    /// The maximum length of recorded content: 64 MiB. A request with longer content fails.
    public static let contentLimit = 64 << 20

    /// The method, target and fields.
    public var head: HTTPRequest
    /// The content; `nil` if there was none, or if none of it was sent.
    public var content: ByteBuffer?

    /// The content as UTF-8; `nil` if there was none.
    public var text: String? { content.map { String(buffer: $0) } }

    /// Creates a request.
    public init(head: HTTPRequest, content: ByteBuffer? = nil) {
        self.head = head
        self.content = content
    }
}
