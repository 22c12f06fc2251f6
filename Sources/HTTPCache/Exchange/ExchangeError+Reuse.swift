import HTTPCacheSemantics

/// The errors of requests that no stored response may serve.
extension ExchangeError {
    /// Returns the error for a request that must not be sent, and for which nothing usable is
    /// stored.
    static func offlineMiss(
        _ request: CacheRequest,
        mode: OfflineMode,
        _ reason: CacheOutcome.ForwardReason?
    ) -> ExchangeError {
        let why = mode == .offline ? "the mode is 'offline'" : "the request may use only the store"
        return ExchangeError(
            code: .offlineMiss,
            message: "No usable response is stored for '\(request.redactedTarget)', and \(why). "
                + "Request it once while the origin is reachable.",
            status: 504,
            outcome: CacheOutcome(forward: reason, detail: mode == .offline ? .offline : nil)
        )
    }

    /// Returns the error for a stored response that needs validation, for a request with
    /// `only-if-cached`. RFC 9111 §5.2.1.7
    static func validationForbidden(_ request: CacheRequest) -> ExchangeError {
        ExchangeError(
            code: .offlineMiss,
            message: "The stored response for '\(request.redactedTarget)' needs validation, which 'only-if-cached' "
                + "forbids. Send the request without 'only-if-cached'.",
            status: 504,
            outcome: CacheOutcome()
        )
    }

    /// Returns the error for a stored response that may not be used without validation.
    ///
    /// - Parameters:
    ///   - directive: see ``forbiddenBy``.
    ///   - cause: the failure of an unreachable origin; `nil` if the origin may not be contacted.
    static func staleForbidden(
        _ request: CacheRequest,
        by directive: String,
        mode: OfflineMode,
        cause: (any Error)?
    ) -> ExchangeError {
        let why =
            switch directive {
            case "cookie": "'cookie': the request has a 'Cookie', and the response is not marked as shareable"
            case "credentials":
                "'credentials': it was fetched with credentials, and a rule overrides the directive that allows sharing it"
            case "invalidated": "a successful unsafe request invalidated it"
            case _ where directive.hasPrefix("stale."): "it is staler than '\(directive)' allows"
            default: "'\(directive)'"
            }
        return ExchangeError(
            code: .staleForbidden,
            message: "The stored response for '\(request.redactedTarget)' may not be used without validation (\(why)), "
                + "and the origin \(cause == nil ? "may not be contacted" : "is unreachable").",
            status: 504,
            outcome: CacheOutcome(
                forward: .stale,
                detail: mode == .offline ? .offline : cause == nil ? nil : .unreachable
            ),
            cause: cause,
            forbiddenBy: directive
        )
    }

    /// Returns the error for a response that is stored only in codings that the client does not
    /// accept.
    ///
    /// - Parameter cause: the failure of an unreachable origin; `nil` if the origin may not be
    ///   contacted.
    static func unreadableCoding(_ request: CacheRequest, _ codings: [String], cause: (any Error)?) -> ExchangeError {
        let names = codings.joined(separator: ", ")
        return ExchangeError(
            code: cause == nil ? .offlineMiss : .originUnreachable,
            message:
                "'\(request.redactedTarget)' is stored only with the content coding '\(names)', which the request does not "
                + "accept and the cache does not decode, and the origin "
                + "\(cause == nil ? "may not be contacted" : "is unreachable"). Send 'Accept-Encoding: \(names)'.",
            status: 504,
            outcome: CacheOutcome(forward: .varyMiss, detail: .coding),
            cause: cause
        )
    }

    /// Returns the error for an origin that sent no response.
    static func originFailed(_ request: CacheRequest, _ error: any Error, isStored: Bool) -> ExchangeError {
        let failure = error as? TransportError
        let isUnreachable = failure?.code.isUnreachable == true
        return ExchangeError(
            code: isUnreachable ? .originUnreachable : .transportFailed,
            message: failure?.message ?? "The exchange with '\(request.head.origin)' failed.",
            status: failure?.code.gatewayStatus ?? 502,
            outcome: CacheOutcome(
                forward: isStored ? .stale : .uriMiss,
                detail: isUnreachable ? .unreachable : nil
            ),
            cause: error
        )
    }
}

extension TransportError.Code {
    /// The status for a failure. RFC 9110 §15.6.3, §15.6.5
    /// - 502: the origin closed the connection, had no valid certificate, or did not send HTTP. It
    ///   was reached, but its response was invalid.
    /// - 504: the origin did not respond, or accepted no connection. An offline miss has the same
    ///   status, whether the request was sent or the breaker refused it.
    fileprivate var gatewayStatus: Int { !isUnreachable || self == .connectionClosed || self == .tls ? 502 : 504 }
}
