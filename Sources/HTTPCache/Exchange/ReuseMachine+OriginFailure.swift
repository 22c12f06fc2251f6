import HTTPCacheSemantics
package import HTTPTypes

/// The decisions about an origin that sent no response, a late one, or one that cannot be used.
extension ReuseMachine {
    /// Decides what to do after the origin sent no response.
    package func originFailed(_ error: any Error) -> Action {
        var error = error
        if let failure = error as? TransportError, let overload = ExchangeError.overloaded(failure) { error = overload }
        if let error = error as? ExchangeError {
            // An overloaded cache would respond with 503, so a stored response that may replace a
            // 503 is served. RFC 5861 §4
            guard error.code == .overloaded,
                var served = originResponded(status: .serviceUnavailable) ?? usableWithoutPermit
            else { return .refuse(error) }
            served.outcome = CacheOutcome(
                isHit: true,
                timeToLive: served.freshness.secondsToLive,
                detail: .overloaded
            )
            return .serve(served)
        }
        if (error as? TransportError)?.code.isUnreachable == true, let action = useOtherCoding(cause: error) {
            return action
        }
        if (error as? TransportError)?.code.isUnreachable == true, preference != .networkOnly,
            let (stored, reuse) = considered
        {
            if let usable = usableWithoutOrigin(stored, reuse, isOriginUnreachable: true) { return .serve(usable) }
            if case .forbidden(let directive) = staleUse(reuse, isOriginUnreachable: true) {
                return .refuse(staleForbidden(by: directive, cause: error))
            }
        }
        return .refuse(.originFailed(prepared.request, error, isStored: considered != nil))
    }

    /// The stored response for a caller that prefers the network, if no permit or connection was
    /// free for its request.
    private var usableWithoutPermit: Serve? {
        guard preference == .networkFirst, let (stored, reuse) = considered else { return nil }
        return usableWithoutOrigin(stored, reuse)
    }

    /// Decides whether to send the request to the origin. If the origin is not expected to respond,
    /// returns the alternative.
    ///
    /// - Parameters:
    ///   - recent: how the origin recently failed for the key.
    ///   - isOriginUnreachable: whether the origin's breaker is open.
    package func alternativeToAsking(_ recent: FailureThrottle.Failure?, isOriginUnreachable: Bool) -> Alternative {
        switch recent {
        case .status(let code):
            if var serve = originResponded(status: HTTPResponse.Status(code: code)) {
                // Nothing is forwarded now. RFC 9211 §2
                serve.outcome.isHit = true
                serve.outcome.forward = nil
                serve.outcome.forwardStatus = nil
                return .serve(serve, isRecent: true)
            }
        case .unreachable:
            if case .serve(let serve) = originFailed(unreachableError) { return .serve(serve, isRecent: true) }
        case nil: break
        }
        // In the other modes, a request is sent even to an origin that counts as unreachable.
        guard mode == .automatic, isOriginUnreachable else { return .ask }
        switch originFailed(unreachableError) {
        case .serve(let serve): return .serve(serve, isRecent: false)
        case .fetch: return .ask
        case .refuse(var refusal):
            // No request was sent, so this is an offline miss. docs/architecture.md, "The offline
            // contract"
            refusal.status = 504
            return .refuse(refusal)
        }
    }

    /// Decides about a request with `only-if-cached` that was refused. If the origin is not
    /// expected to respond, the request gets the same as without the directive: the stored
    /// response, or the reason why it may not be served. RFC 9111 §4.2.4, §5.2.1.7
    ///
    /// - Returns: `nil` if the refusal stands.
    package func alternativeToRefusing(
        _ recent: FailureThrottle.Failure?,
        isOriginUnreachable: Bool
    ) -> Alternative? {
        guard mode != .offline, preference != .storedOnly, policy.isOnlyIfCached(request) else { return nil }
        let alternative = alternativeToAsking(recent, isOriginUnreachable: isOriginUnreachable)
        switch alternative {
        case .serve: return alternative
        case .refuse(let refusal): return refusal.code == .staleForbidden ? alternative : nil
        case .ask: return nil
        }
    }

    private var unreachableError: TransportError {
        TransportError(
            code: .connect,
            message:
                "'\(request.origin)' is unreachable and was not contacted again; it is probed until it responds."
        )
    }

    /// Returns the stored response to serve instead of the origin's response, if `status` is a
    /// server failure and the stored response may be served; otherwise `nil`. RFC 5861 §4
    package func originResponded(status: HTTPResponse.Status) -> Serve? {
        guard status.isServerFailure, preference != .networkOnly, let (stored, reuse) = considered,
            stored.head.status.code < 400, reuse.allowsStaleOnError || reuse.freshness.isFresh,
            case .allowed = reuse.staleUse,
            !stored.head.isInvalidated
        else { return nil }
        var served = Serve(stored, reuse)
        served.outcome = CacheOutcome(
            forward: .stale,
            forwardStatus: status.code,
            timeToLive: reuse.freshness.secondsToLive,
            detail: .staleIfError
        )
        served.outcome.standsInForError = true
        // Even a fresh response may not be served if it requires validation for every use.
        served.lift(reuse.liftedDirective)
        return served
    }

    /// Returns the stored response to serve if the origin does not respond within the time that the
    /// caller waits; `nil` if none may be served.
    package func originIsSlow() -> Serve? {
        var served = standIn
        served?.outcome.detail = .slow
        return served
    }

    /// Returns the selected response to serve instead of the origin's response, which looks wrong
    /// compared with it; `nil` if the selected response may not be served.
    package func originLooksWrong() -> Serve? {
        guard var served = standIn else { return nil }
        served.outcome = CacheOutcome(
            forward: .stale,
            forwardStatus: 200,
            timeToLive: served.freshness.secondsToLive,
            detail: .guarded
        )
        return served
    }
}
