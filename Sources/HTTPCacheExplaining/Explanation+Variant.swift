import HTTPCache
public import HTTPCacheSemantics

extension Explanation {
    /// A stored response under the key.
    public struct Variant: Sendable, Hashable, Codable {
        /// The store's number for the response.
        public var id: Int64
        /// The response's partition: `common`, `principal` or `credentials`.
        public var partition: String
        /// The response's status.
        public var status: Int
        /// The time at which the response was first stored.
        public var storedAt: Timestamp
        /// The time at which the response's head was received or last freshened.
        public var receivedAt: Timestamp
        /// The length of the response's body in bytes.
        public var bodyLength: Int64
        /// Whether the response was invalidated and must be validated before use. While the origin
        /// is unreachable, it may still be served, unless an unsafe request invalidated it.
        public var isInvalidated: Bool
        /// Whether the response cannot be served because its body is missing or damaged. Checked
        /// only for responses that would be served.
        public var isBodyGone: Bool
        /// The request fields that `Vary` lists, in lower case.
        public var vary: [String]
        /// Whether the response matches the request's selecting fields.
        public var isMatching: Bool
        /// The fields that do not match, with their values. RFC 9111 §4.1
        public var differences: [Difference]
        /// Whether the response is the selected variant.
        public var isSelected: Bool
    }

    /// A selecting field that differs between this request and the request for the stored response.
    public struct Difference: Sendable, Hashable, Codable {
        /// The name in lower case; `*` for `Vary: *`.
        public var name: String
        /// The redacted value; `nil` if the request for the stored response lacked the field.
        public var stored: String?
        /// The redacted value; `nil` if this request lacks the field.
        public var presented: String?
    }

    /// The age and freshness calculation in RFC 9111 §4.2, with the RFC's names, in milliseconds
    /// and instants.
    public struct Arithmetic: Sendable, Hashable, Codable {
        /// `date_value` from the field; `nil` if there is no valid field, and ``responseTime`` is
        /// used instead.
        public var dateValue: Timestamp?
        /// `age_value` from the field; `nil` if there is no valid field.
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
        /// The fields that state the lifetime, as received.
        public var lifetimeFields: [Field]
        /// `response_is_fresh`
        public var isFresh: Bool
        /// The first instant at which the response is stale; `nil` if it never becomes stale.
        public var freshUntil: Timestamp?
    }
}
