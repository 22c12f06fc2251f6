package import HTTPCacheSemantics
package import HTTPTypes

/// The actions that the machine returns.
extension ReuseMachine {
    /// A stored response to serve, and how to describe the exchange.
    package struct Serve: Sendable {
        package var stored: StoredResponse
        package var freshness: Freshness
        package var outcome: CacheOutcome
        /// Whether to renew the response in the background, so that the next caller gets a newer
        /// response.
        package var isToBeRefreshed = false
        /// The reason that would forbid serving this response (a directive, or `invalidated`), but
        /// that the operator overrides.
        package var liftedDirective: String?
    }

    /// A request to the origin, and its reason.
    package struct Fetch: Sendable {
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

    package enum Action: Sendable {
        case serve(Serve)
        case fetch(Fetch)
        case refuse(ExchangeError)
    }

    /// The way to handle a request to an origin that may be failing.
    package enum Alternative {
        /// Send the request to the origin, because there is no reason not to.
        case ask
        /// Serve this response, because the origin recently failed for the key, or counts as
        /// unreachable.
        case serve(Serve, isRecent: Bool)
        /// The origin counts as unreachable, and no stored response may be served. Refuse, unless
        /// the request may be the trial.
        case refuse(ExchangeError)
    }
}

extension ReuseMachine.Serve {
    /// Serves a stored response as a hit.
    init(_ stored: StoredResponse, _ reuse: Reuse) {
        let outcome = CacheOutcome(isHit: true, timeToLive: Self.secondsToLive(stored, reuse))
        self.init(stored: stored, freshness: reuse.freshness, outcome: outcome)
    }

    /// Returns the remaining lifetime to report. It is never positive if an unsafe method
    /// invalidated the response. RFC 9111 §4.4, RFC 9211 §2.4
    private static func secondsToLive(_ stored: StoredResponse, _ reuse: Reuse) -> Int64 {
        let seconds = reuse.freshness.secondsToLive
        return stored.head.invalidation == .unsafeMethod ? min(seconds, 0) : seconds
    }

    /// The same response, marked as served by a disconnected node, because another node may have
    /// purged it.
    var withoutContact: Self {
        var served = self
        served.outcome.detail = .cutOff
        return served
    }

    /// Records the reason that would forbid this response, but that the operator overrides.
    mutating func lift(_ directive: String?) {
        guard let directive else { return }
        liftedDirective = directive
        outcome.detail = .despite(directive)
    }
}

extension ReuseMachine.Fetch {
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

extension Freshness {
    /// The time to live in seconds, rounded down, so that a stale response never claims 0. RFC 9211
    /// §2.4
    var secondsToLive: Int64 {
        let milliseconds = timeToLive
        return milliseconds >= 0 || milliseconds % 1000 == 0 ? milliseconds / 1000 : milliseconds / 1000 - 1
    }
}
