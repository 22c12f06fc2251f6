package import HTTPCacheSemantics
package import HTTPTypes

/// A request to the origin, and its reason.
package struct PlannedFetch: Sendable {
    package var request: HTTPRequest
    /// The stored response that `request` validates; `nil` if the request is unconditional or
    /// has the caller's own conditions.
    package var validating: StoredResponse?
    package var reason: CacheOutcome.ForwardReason
    /// The incomplete stored response that `request` completes. RFC 9111 §3.3
    package var completing: StoredResponse?
    /// The stored response that was selected, whether or not it is validated.
    package var selected: StoredResponse?
    /// Whether ``selected`` may be served if the origin's response looks wrong.
    package var mayStandIn = false
}

extension PlannedFetch {
    /// Creates the fetch for a request that bypasses the store.
    package init(forwarding request: CacheRequest) {
        self.init(request: request.head, reason: request.forwardReason)
    }

    /// Creates the fetch that validates a stored response, or replaces it if it has no validator.
    init(
        validating stored: StoredResponse,
        by request: HTTPRequest,
        _ policy: CachePolicy,
        reason: CacheOutcome.ForwardReason,
        mayStandIn: Bool
    ) {
        // For an unsafe method, a matching validator leads to a 412, so there would be no response
        // to use. RFC 9110 §13.1.2
        let conditional = request.method.isSafe ? policy.validationRequest(for: stored.head, request: request) : nil
        self.init(
            request: conditional ?? request,
            validating: conditional == nil ? nil : stored,
            reason: reason,
            selected: stored,
            mayStandIn: mayStandIn
        )
    }
}
