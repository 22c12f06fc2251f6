import HTTPCache

extension Explanation {
    /// The outcome in one situation.
    public struct Verdict: Sendable, Hashable, Codable {
        /// The source of the response.
        public enum Answer: String, Sendable, Hashable, Codable {
            /// A stored response.
            case stored
            /// The origin is asked whether the stored response is still good. RFC 9111 §4.3
            case validated
            /// The origin is asked for the rest of the stored response. RFC 9111 §3.3
            case completed
            /// The origin is asked, and its response is returned.
            case forwarded
            /// The cache itself returns an error.
            case refused
        }

        /// The reason, for programs.
        public enum Reason: String, Sendable, Hashable, Codable {
            case fresh
            /// The request's `max-stale`, or the caller, allows a stale response.
            case maxStale = "max-stale"
            case staleWhileRevalidate = "stale-while-revalidate"
            /// It arrived or was validated within the time for which the caller accepts it unasked.
            case recent
            case staleIfError = "stale-if-error"
            /// Stored responses come before the origin: by mode, rule, or the caller's preference.
            case storedFirst = "stored-first"
            /// Only the store may be asked.
            case storedOnly = "stored-only"
            case unreachable
            /// The origin's circuit breaker is open, so the origin was not asked.
            case breakerOpen = "breaker-open"
            /// The origin failed for this key a moment ago, and was not asked again.
            case recentFailure = "recent-failure"
            case stale
            case invalidated
            /// The response's `no-cache`, or another directive of the response that requires
            /// validation of a fresh response.
            case responseNoCache = "response-no-cache"
            case requestNoCache = "request-no-cache"
            case requestMaxAge = "request-max-age"
            case requestMinFresh = "request-min-fresh"
            case requestCredentials = "request-credentials"
            /// The stored response came to a request with credentials, and a rule lifts the
            /// directive that shares it.
            case responseCredentials = "response-credentials"
            /// The caller asked for the origin first.
            case networkFirst = "network-first"
            /// Nothing is stored for the target.
            case uriMiss = "uri-miss"
            /// Something is stored, but no variant matches the request's fields.
            case varyMiss = "vary-miss"
            /// The stored part is not the part that is requested.
            case partial
            case method
            case bypass
            /// A directive forbids the use of a stale response; ``Verdict/forbiddenBy`` names it.
            case staleForbidden = "stale-forbidden"
            /// The origin's own error response is passed on.
            case originFails = "origin-fails"
            /// Too many requests, a cache that is shut down, or a request that cannot be sent.
            case other
        }

        /// See ``Answer-swift.enum``.
        public var answer: Answer
        /// See ``Reason-swift.enum``.
        public var reason: Reason
        /// The status of the response, if the cache knows it: a stored response's (304, 206 or 416
        /// if the request asks for that), a rejection's, or the origin's 503.
        public var status: Int?
        /// The number of the stored response that is served, validated or completed.
        public var stored: Int64?
        /// `Cache-Status` as it would be, without the parts that only the origin's response can
        /// add. RFC 9211
        public var cacheStatus: String
        /// Whether no request is forwarded. RFC 9211 §2.1
        public var isHit: Bool
        /// RFC 9211 §2.2
        public var forward: String?
        /// Seconds of freshness left, negative when stale. RFC 9211 §2.4
        public var timeToLive: Int64?
        /// RFC 9211 §2.8
        public var detail: String?
        /// Whether the stored response is renewed in the background after it was served.
        public var isRefreshed: Bool
        /// The name of a directive or staleness limit that forbids stale use, or `cookie`.
        public var forbiddenBy: String?
        /// The verdict in one sentence.
        public var summary: String
    }
}
