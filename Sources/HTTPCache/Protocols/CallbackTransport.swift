/// A transport that an event loop can use without a task.
package protocol CallbackTransport: Transport {
    /// Sends a request without content from the calling thread, and passes its response to
    /// `completion`.
    ///
    /// The transport keeps ``TransportRequest/headTimeout``.
    ///
    /// - Parameter completion: called once, with the result or error of ``Transport/send(_:)``, or
    ///   with a response as it came if the request allows that.
    /// - Returns: the call, which can be cancelled; `nil` if the request cannot be sent in this
    ///   way. Then nothing was sent and `completion` is not called. Call ``Transport/send(_:)``
    ///   instead: it throws the reason if it cannot send the request either.
    func begin(
        _ request: TransportRequest,
        _ completion: @escaping @Sendable (Result<CallbackResponse, any Error>) -> Void
    ) -> (any TransportCall)?
}

/// The response of a ``CallbackTransport``.
package enum CallbackResponse: Sendable {
    case response(TransportResponse)
    /// Only for a request with ``TransportRequest/mayBeRelayed``.
    case relayed(any RelayedResponse)
}

/// A request that is under way.
package protocol TransportCall: Sendable {
    /// Ends the request on the network, from any thread; its completion is called with an error.
    /// Does nothing after the response's head has arrived.
    func cancel()
}
