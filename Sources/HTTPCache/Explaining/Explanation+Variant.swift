public import HTTPCacheSemantics

extension Explanation {
    /// A stored response of the key.
    public struct Variant: Sendable, Hashable, Codable {
        /// The store's number for it.
        public var id: Int64
        /// Whose it is: `shared`, `principal` or `credentials`.
        public var partition: String
        /// Its status.
        public var status: Int
        /// When it was first stored.
        public var storedAt: Timestamp
        /// When its head came, or was last freshened.
        public var receivedAt: Timestamp
        /// Bytes in its body.
        public var bodyLength: Int64
        /// Invalidated, and kept for when the origin cannot be reached.
        public var isInvalidated: Bool
        /// Its body is gone or damaged, so that it answers nobody. Only found out of those that
        /// would be served.
        public var isBodyGone: Bool
        /// The request fields that `Vary` names, in lower case.
        public var vary: [String]
        /// Whether it matches the request's selecting fields.
        public var isMatching: Bool
        /// Where it does not: which do not, and how. RFC 9111 §4.1
        public var differences: [Difference]
        /// Whether it is the one that counts.
        public var isSelected: Bool
    }

    /// A selecting field that is another in the request than in the one that brought the response.
    public struct Difference: Sendable, Hashable, Codable {
        /// In lower case; `*` for `Vary: *`.
        public var name: String
        /// Redacted; `nil` where the stored response was made for a request without it.
        public var stored: String?
        /// Redacted; `nil` where the request has none.
        public var presented: String?
    }

    /// RFC 9111 §4.2, by its own names: milliseconds and instants.
    public struct Arithmetic: Sendable, Hashable, Codable {
        /// `date_value`: of the field; `nil` where there is no valid one, and ``responseTime``
        /// stands for it.
        public var dateValue: Timestamp?
        /// `age_value`: of the field; `nil` where there is no valid one.
        public var ageValue: Int64?
        /// `request_time`
        public var requestTime: Timestamp
        /// `response_time`
        public var responseTime: Timestamp
        /// `apparent_age`
        public var apparentAge: Int64
        /// `response_delay`
        public var responseDelay: Int64
        /// `corrected_age_value`
        public var correctedAgeValue: Int64
        /// `corrected_initial_age`
        public var correctedInitialAge: Int64
        /// `resident_time`
        public var residentTime: Int64
        /// `current_age`
        public var currentAge: Int64
        /// `freshness_lifetime`
        public var freshnessLifetime: Int64
        /// What the lifetime comes from: `maxAge`, `sMaxage`, `expires`, `heuristic`,
        /// `explicitExpiry`, `none`, or a rule.
        public var lifetimeSource: String
        /// The fields that it comes from, as they came.
        public var lifetimeFields: [Field]
        /// `response_is_fresh`
        public var isFresh: Bool
        /// The first instant at which it is not; `nil` for never.
        public var freshUntil: Timestamp?
    }
}
