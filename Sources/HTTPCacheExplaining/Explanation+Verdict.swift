import HTTPCache

extension Explanation {
    /// The outcome in one situation.
    package struct Verdict: Sendable, Hashable, Codable {
        /// The source of the response.
        package enum Answer: String, Sendable, Hashable, Codable {
            /// A stored response.
            case stored
            /// The origin validates the stored response. RFC 9111 §4.3
            case validated
            /// The origin sends the rest of the stored response. RFC 9111 §3.3
            case completed
            /// The origin's response is returned.
            case forwarded
            /// The cache itself returns an error.
            case refused
        }

        /// The reason for the outcome, for programs.
        package enum Reason: String, Sendable, Hashable, Codable {
            case fresh
            /// The request's `max-stale` allows a stale response.
            case maxStale = "max-stale"
            case staleWhileRevalidate = "stale-while-revalidate"
            /// The response arrived or was validated so recently that the caller accepts it without
            /// validation.
            case recent
            case staleIfError = "stale-if-error"
            /// Stored responses take precedence over the origin: by mode, rule, or the caller's
            /// preference.
            case storedFirst = "stored-first"
            /// Only the store may be used.
            case storedOnly = "stored-only"
            case unreachable
            /// The origin's circuit breaker is open, so no request was sent to the origin.
            case breakerOpen = "breaker-open"
            /// The origin recently failed for this key, so no request was sent to it.
            case recentFailure = "recent-failure"
            case stale
            case invalidated
            /// The response's `no-cache` or another of its directives requires validation although
            /// it is fresh.
            case responseNoCache = "response-no-cache"
            case requestNoCache = "request-no-cache"
            case requestMaxAge = "request-max-age"
            case requestMinFresh = "request-min-fresh"
            case requestCredentials = "request-credentials"
            /// The stored response answered a request with credentials, and a rule overrides the
            /// directive that allows sharing it.
            case responseCredentials = "response-credentials"
            /// The caller prefers the origin's response.
            case networkFirst = "network-first"
            /// Nothing is stored for the target.
            case uriMiss = "uri-miss"
            /// Responses are stored, but no variant matches the request's fields.
            case varyMiss = "vary-miss"
            /// The stored part does not contain all requested bytes.
            case partial
            case method
            case bypass
            /// A directive, a limit or an invalidation forbids the use of the stored response
            /// without validation; see ``Verdict/forbiddenBy``.
            case staleForbidden = "stale-forbidden"
            /// The origin's own error response is passed to the caller.
            case originFails = "origin-fails"
            /// There are too many requests, the cache has shut down, or the request cannot be sent.
            case other
        }

        /// See ``Answer-swift.enum``.
        package var answer: Answer
        /// See ``Reason-swift.enum``.
        package var reason: Reason
        /// The status of the response, if the cache knows it: the status with which a stored
        /// response is served (possibly 206, 304 or 416), the status of a refusal, or the origin's
        /// 503.
        package var status: Int?
        /// The number of the stored response that is served, validated or completed.
        package var stored: Int64?
        /// The resulting `Cache-Status`, without the parts that only the origin's response can add.
        /// RFC 9211
        package var cacheStatus: String
        /// Whether the request is a hit, so it is not forwarded. RFC 9211 §2.1
        package var isHit: Bool
        /// The `fwd` parameter of ``cacheStatus``. RFC 9211 §2.2
        package var forward: String?
        /// The seconds of freshness left; negative if stale. RFC 9211 §2.4
        package var timeToLive: Int64?
        /// The `detail` parameter of ``cacheStatus``. RFC 9211 §2.8
        package var detail: String?
        /// Whether the stored response is refreshed in the background after it is served.
        package var isRefreshed: Bool
        /// The directive or staleness limit that forbids using the stored response; or
        /// `invalidated`, `credentials` or `cookie`.
        package var forbiddenBy: String?
        /// The outcome in one sentence.
        package var summary: String
    }
}
