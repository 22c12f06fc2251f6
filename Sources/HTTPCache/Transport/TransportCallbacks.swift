/// How an event loop uses a transport without a task; see ``Transport/callbacks``.
public struct TransportCallbacks: Sendable {
    package typealias Completion = @Sendable (Result<CallbackResponse, any Error>) -> Void

    /// Sends a request without content from the calling thread, and passes its response to the
    /// completion.
    ///
    /// The transport keeps ``TransportRequest/headTimeout``. The completion is called once, with
    /// the result or error of ``Transport/send(_:)``, or with a response as it came if the request
    /// allows that.
    ///
    /// It returns the call, which can be cancelled. It returns `nil` if the request cannot be sent
    /// in this way. Then nothing was sent and the completion is not called. Call
    /// ``Transport/send(_:)`` instead: it throws the reason if it cannot send the request either.
    package let begin: @Sendable (TransportRequest, @escaping Completion) -> (any TransportCall)?

    package init(begin: @escaping @Sendable (TransportRequest, @escaping Completion) -> (any TransportCall)?) {
        self.begin = begin
    }
}

/// A response that ``TransportCallbacks`` pass on.
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
