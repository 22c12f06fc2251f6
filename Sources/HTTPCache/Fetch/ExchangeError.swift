public import HTTPCacheSemantics
import HTTPTypes

/// The reason that an exchange ended without a response.
public struct ExchangeError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, as it appears in logs and problem details.
        public let description: String
        /// Nothing usable is stored, and the network may not be used (`offline` mode, or a request
        /// that may use only the store).
        public static let offlineMiss = Code(description: "offline-miss")
        /// A response is stored, but a directive, a limit or an invalidation forbids its use
        /// without validation. The origin is unreachable or must not be contacted.
        public static let staleForbidden = Code(description: "stale-forbidden")
        /// The origin is unreachable, and nothing usable is stored.
        public static let originUnreachable = Code(description: "origin-unreachable")
        /// The origin's response was not valid HTTP, or the request could not be sent.
        public static let transportFailed = Code(description: "transport-failed")
        /// The request has no `:scheme`, `:authority` or `:path`, or they name no `http` or `https`
        /// target.
        public static let invalidTarget = Code(description: "invalid-target")
        /// Too many requests are waiting for the origin.
        public static let overloaded = Code(description: "overloaded")
        /// The cache was shut down.
        public static let shutDown = Code(description: "shut-down")

        /// All codes.
        package static let all = [
            offlineMiss, staleForbidden, originUnreachable, transportFailed, invalidTarget, overloaded, shutDown,
        ]
    }

    /// See ``Code``.
    public var code: Code
    /// The failure, its subject, and the next step, without credentials and without the values of
    /// secret parameters. The values of other parameters are shown.
    public var message: String
    /// The status that a gateway responds with. RFC 9110 §15.6
    /// - 400: the target is invalid.
    /// - 502: the origin closed the connection, had no valid certificate, or did not send HTTP.
    /// - 503: the cache is overloaded or shut down.
    /// - 504: the origin may not be contacted, accepted no connection, or did not respond.
    public var status: Int
    /// How the exchange ended, in RFC 9211's terms.
    public var outcome: CacheOutcome
    /// The transport's failure, if there is one.
    public var cause: (any Error)?
    /// With ``Code/staleForbidden``, the reason that forbids using the stored response: a directive
    /// or a limit, such as `must-revalidate` or `stale.offline`; or `invalidated`, `credentials` or
    /// `cookie`. See `Reuse.StaleUse`.
    public var forbiddenBy: String?
    /// The recorded request that differs least, if the engine replays a job.
    package var nearest: NearestRecorded?
    /// The URL of the request at its origin, without secrets, if the engine has a job. The client
    /// is its command, to which the gateway's own URL says nothing.
    package var jobTarget: String?

    package static func invalidTarget(_ request: CacheRequest) -> ExchangeError {
        // In an invalid target, it is unknown which part of the path is a secret parameter.
        let path = request.secrets == nil ? request.head.path ?? "" : ""
        return ExchangeError(
            code: .invalidTarget,
            message: "'\(Redaction.uriText(request.head.origin + path))' is not an http or https target.",
            status: 400,
            outcome: CacheOutcome()
        )
    }

    /// Returns the error for a stored response whose body no longer exists. It was to be served
    /// because the origin is unreachable or this cache is overloaded, so that error is thrown after
    /// all.
    package static func bodyGone(_ cause: any Error) -> ExchangeError {
        if let refusal = cause as? ExchangeError { return refusal }
        if let failure = cause as? TransportError, let overload = overloaded(failure) { return overload }
        return ExchangeError(
            code: .originUnreachable,
            message: "\(cause)",
            status: 504,
            outcome: CacheOutcome(forward: .uriMiss, detail: .unreachable),
            cause: cause
        )
    }

    static func shutDown(_ request: CacheRequest) -> ExchangeError {
        ExchangeError(
            code: .shutDown,
            message: "The cache is shut down, so it did not answer '\(request.redactedTarget)'.",
            status: 503,
            outcome: CacheOutcome(forward: .bypass)
        )
    }

    static func overloaded(
        _ request: CacheRequest,
        _ overload: OriginRegistry.Overload,
        _ options: EngineOptions
    ) -> ExchangeError {
        let (why, setting) =
            switch overload {
            case .full:
                (
                    "too many requests are already waiting for '\(request.head.origin)' (the limit is \(options.waitingLimit))",
                    "limits.waiting-per-origin"
                )
            case .waited(let limit):
                (
                    "it waited \(limit) for its turn, and at most \(options.inFlightLimit) requests to '\(request.head.origin)' may be in flight",
                    "limits.in-flight-per-origin"
                )
            }
        return ExchangeError(
            code: .overloaded,
            message: "'\(request.redactedTarget)' was not sent: \(why). Try again later, or raise '\(setting)'.",
            status: 503,
            outcome: CacheOutcome(forward: .uriMiss, detail: .overloaded)
        )
    }

    /// Returns the error for a connection that this cache's own limits prevented: the cache is
    /// overloaded, not the origin.
    ///
    /// - Returns: `nil` if the transport failed for another reason.
    static func overloaded(_ error: TransportError) -> ExchangeError? {
        guard error.code == .outOfDescriptors || error.code == .overloaded else { return nil }
        return ExchangeError(
            code: .overloaded,
            message: error.message,
            status: 503,
            outcome: CacheOutcome(forward: .uriMiss, detail: .overloaded),
            cause: error
        )
    }

    /// The error message.
    public var description: String { message }
}
