extension Explanation {
    /// What would happen in one situation.
    public struct Verdict: Sendable, Hashable, Codable {
        /// Who answers.
        public enum Answer: String, Sendable, Hashable, Codable {
            /// A stored response.
            case stored
            /// The origin is asked whether the stored response is still good. RFC 9111 §4.3
            case validated
            /// The origin is asked for the rest of what is stored. RFC 9111 §3.3
            case completed
            /// The origin is asked, and its answer is the answer.
            case forwarded
            /// The cache itself, with an error.
            case refused
        }

        /// What decided, for programs.
        public enum Reason: String, Sendable, Hashable, Codable {
            case fresh
            /// The request's `max-stale`, or the caller, allows what is stale.
            case maxStale = "max-stale"
            case staleWhileRevalidate = "stale-while-revalidate"
            /// It came or was validated within the time for which the caller wants no other.
            case recent
            case staleIfError = "stale-if-error"
            /// What is stored goes before the origin: by mode, rule, or the caller's preference.
            case storedFirst = "stored-first"
            /// Only the store may be asked.
            case storedOnly = "stored-only"
            case unreachable
            /// The origin counts as away, and was not asked.
            case away
            /// The origin failed for this key a moment ago, and was not asked again.
            case recentFailure = "recent-failure"
            case stale
            case invalidated
            /// The response's `no-cache`, or another directive of its that asks for validation of
            /// what is fresh.
            case responseNoCache = "response-no-cache"
            case requestNoCache = "request-no-cache"
            case requestMaxAge = "request-max-age"
            case requestMinFresh = "request-min-fresh"
            case requestCredentials = "request-credentials"
            /// The caller asked for the origin first.
            case networkFirst = "network-first"
            /// Nothing is stored for the target.
            case uriMiss = "uri-miss"
            /// Something is stored, and nothing that fits the request's fields.
            case varyMiss = "vary-miss"
            /// Another part is stored than what is asked for.
            case partial
            case method
            case bypass
            /// A directive forbids the use of what is stale; ``Verdict/forbiddenBy`` names it.
            case staleForbidden = "stale-forbidden"
            /// The origin's own answer, an error, is passed on.
            case originFails = "origin-fails"
            /// Too many requests, a cache that is shut down, a request that cannot be sent.
            case other
        }

        /// See ``Answer-swift.enum``.
        public var answer: Answer
        /// See ``Reason-swift.enum``.
        public var reason: Reason
        /// The answer's status, where the cache knows it: a stored response's (304, 206 or 416
        /// where the request asks for that), a refusal's, or the origin's 503.
        public var status: Int?
        /// The number of the stored response that answers, is validated or is completed.
        public var stored: Int64?
        /// `Cache-Status` as it would be but for what the origin's answer adds. RFC 9211
        public var cacheStatus: String
        /// Nothing is forwarded. RFC 9211 §2.1
        public var isHit: Bool
        /// RFC 9211 §2.2
        public var forward: String?
        /// Seconds of freshness left, negative when stale. RFC 9211 §2.4
        public var timeToLive: Int64?
        /// RFC 9211 §2.8
        public var detail: String?
        /// Renewed in the background, after it answered.
        public var isRefreshed: Bool
        /// What forbids stale use: a directive's name, a budget's, or `cookie`.
        public var forbiddenBy: String?
        /// All this in one sentence.
        public var summary: String
    }
}
