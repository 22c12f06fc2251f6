/// A transport that an event loop can use without a task.
package protocol CallbackTransport: Transport {
    /// Sends a request without content from the calling thread, and hands over its answer there.
    ///
    /// The transport keeps ``TransportRequest/headTimeout``.
    ///
    /// - Parameter completion: called once, with what ``Transport/send(_:)`` returns or throws, or
    ///   with an answer as it came where the request may have it so.
    /// - Returns: what ends it; `nil` where it cannot be sent so. Then nothing was sent and
    ///   `completion` is not called: ``Transport/send(_:)`` is to be asked, which says why where it
    ///   cannot send it either.
    func begin(
        _ request: TransportRequest,
        _ completion: @escaping @Sendable (Result<CallbackResponse, any Error>) -> Void
    ) -> (any TransportCall)?
}

/// What a ``CallbackTransport`` answers with.
package enum CallbackResponse: Sendable {
    case response(TransportResponse)
    /// Only to a request that may have it: ``TransportRequest/mayBeRelayed``.
    case relayed(RelayedResponse)
}

/// A request that is under way.
package protocol TransportCall: Sendable {
    /// Ends it on the wire, from any thread; its completion is called with an error. Does nothing
    /// once the answer's head has come.
    func cancel()
}
