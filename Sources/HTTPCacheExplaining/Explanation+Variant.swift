import HTTPCache
public import HTTPCacheSemantics

extension Explanation {
    /// A stored response of the key.
    public struct Variant: Sendable, Hashable, Codable {
        /// The store's number for the response.
        public var id: Int64
        /// Its partition: `common`, `principal` or `credentials`.
        public var partition: String
        /// Its status.
        public var status: Int
        /// When it was first stored.
        public var storedAt: Timestamp
        /// When its head arrived, or was last freshened.
        public var receivedAt: Timestamp
        /// Bytes in its body.
        public var bodyLength: Int64
        /// Whether it was invalidated, and is kept for when the origin cannot be reached.
        public var isInvalidated: Bool
        /// Whether its body is gone or damaged, so that it cannot be served. Only checked for
        /// responses that would be served.
        public var isBodyGone: Bool
        /// The request fields that `Vary` names, in lower case.
        public var vary: [String]
        /// Whether it matches the request's selecting fields.
        public var isMatching: Bool
        /// The fields that do not match, if any, and their values. RFC 9111 §4.1
        public var differences: [Difference]
        /// Whether it is the variant that is used.
        public var isSelected: Bool
    }

    /// A selecting field that differs between this request and the one that brought the stored
    /// response.
    public struct Difference: Sendable, Hashable, Codable {
        /// In lower case; `*` for `Vary: *`.
        public var name: String
        /// Redacted; `nil` if the stored response was made for a request without the field.
        public var stored: String?
        /// Redacted; `nil` if the request does not have the field.
        public var presented: String?
    }

    /// The age and freshness of RFC 9111 §4.2, with its names: milliseconds and instants.
    public struct Arithmetic: Sendable, Hashable, Codable {
        /// `date_value`: from the field; `nil` if there is no valid one, and ``responseTime``
        /// replaces it.
        public var dateValue: Timestamp?
        /// `age_value`: from the field; `nil` if there is no valid one.
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
        /// The source of the lifetime: `maxAge`, `sMaxage`, `expires`, `heuristic`,
        /// `explicitExpiry`, `none`, or a rule.
        public var lifetimeSource: String
        /// The fields that give the lifetime, as they came.
        public var lifetimeFields: [Field]
        /// `response_is_fresh`
        public var isFresh: Bool
        /// The first instant at which it is stale; `nil` for never.
        public var freshUntil: Timestamp?
    }
}
