/// Lets an event loop use a transport without a task: see ``Transport/callbacks``.
public struct TransportCallbacks: Sendable {
    package typealias Completion = @Sendable (Result<CallbackResponse, any Error>) -> Void

    /// Sends a request without content from the calling thread, and passes its response to the
    /// completion.
    ///
    /// The transport enforces ``TransportRequest/headTimeout``. The completion is called once, with
    /// the result or error of ``Transport/send(_:)``, or with an unparsed response if the request
    /// allows that.
    ///
    /// Returns the call, which can be canceled. Returns `nil` if the request cannot be sent this
    /// way, in which case nothing was sent and the completion is not called. Call
    /// ``Transport/send(_:)`` instead: it throws the reason if it cannot send the request either.
    package let begin: @Sendable (TransportRequest, @escaping Completion) -> (any TransportCall)?

    package init(begin: @escaping @Sendable (TransportRequest, @escaping Completion) -> (any TransportCall)?) {
        self.begin = begin
    }
}

/// A response that ``TransportCallbacks`` passes to its completion.
package enum CallbackResponse: Sendable {
    case response(TransportResponse)
    /// An unparsed response. Only for a request with ``TransportRequest/mayBeRelayed``.
    case relayed(any RelayedResponse)
}

/// A request in flight.
package protocol TransportCall: Sendable {
    /// Ends the request on the network, from any thread. Its completion is called with an error.
    /// Has no effect after the response's head has arrived.
    func cancel()
}
