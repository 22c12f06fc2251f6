/// A client's connection, whatever protocol it speaks: one request after the other.
protocol Conversation: AnyObject {
    /// Whether the gateway announced that it closes, or closed.
    var isOver: Bool { get }

    /// Sends a request whole, and reads its response.
    ///
    /// - Returns: `nil` if there is none.
    @discardableResult
    func exchange(_ request: ClientRequest) throws -> ReceivedResponse?
}
