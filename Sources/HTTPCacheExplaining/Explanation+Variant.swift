import HTTPCache
package import HTTPCacheSemantics

extension Explanation {
    /// A stored response under the key.
    package struct Variant: Sendable, Hashable, Codable {
        /// The store's number for the response.
        package var id: Int64
        /// The response's partition: `common`, `principal` or `credentials`.
        package var partition: String
        /// The response's status.
        package var status: Int
        /// The time at which the response was first stored.
        package var storedAt: Timestamp
        /// The time at which the response's head was received or last freshened.
        package var receivedAt: Timestamp
        /// The length of the response's body in bytes.
        package var bodyLength: Int64
        /// Whether the response was invalidated and must be validated before use. While the origin
        /// is unreachable, it may still be served, unless an unsafe request invalidated it.
        package var isInvalidated: Bool
        /// Whether the response cannot be served because its body is missing or damaged. Checked
        /// only for responses that would be served.
        package var isBodyGone: Bool
        /// The request fields that `Vary` lists, in lower case.
        package var vary: [String]
        /// Whether the response matches the request's selecting fields.
        package var isMatching: Bool
        /// The fields that do not match, with their values. RFC 9111 §4.1
        package var differences: [Difference]
        /// Whether the response is the selected variant.
        package var isSelected: Bool
    }

    /// A selecting field that differs between this request and the request for the stored response.
    package struct Difference: Sendable, Hashable, Codable {
        /// The name in lower case; `*` for `Vary: *`.
        package var name: String
        /// The redacted value; `nil` if the request for the stored response lacked the field.
        package var stored: String?
        /// The redacted value; `nil` if this request lacks the field.
        package var presented: String?
    }

    /// The age and freshness calculation in RFC 9111 §4.2, with the RFC's names, in milliseconds
    /// and instants.
    package struct Arithmetic: Sendable, Hashable, Codable {
        /// `date_value` from the field; `nil` if there is no valid field, and ``responseTime`` is
        /// used instead.
        package var dateValue: Timestamp?
        /// `age_value` from the field; `nil` if there is no valid field.
        package var ageValue: Int64?
        /// `request_time`
        package var requestTime: Timestamp
        /// `response_time`
        package var responseTime: Timestamp
        /// `apparent_age`
        package var apparentAge: Int64
        /// `response_delay`
        package var responseDelay: Int64
        /// `corrected_age_value`
        package var correctedAgeValue: Int64
        /// `corrected_initial_age`
        package var correctedInitialAge: Int64
        /// `resident_time`
        package var residentTime: Int64
        /// `current_age`
        package var currentAge: Int64
        /// `freshness_lifetime`
        package var freshnessLifetime: Int64
        /// The source of the lifetime: `maxAge`, `sMaxage`, `expires`, `heuristic`,
        /// `explicitExpiry`, `none`, or a rule.
        package var lifetimeSource: String
        /// The fields that state the lifetime, as received.
        package var lifetimeFields: [Field]
        /// `response_is_fresh`
        package var isFresh: Bool
        /// The first instant at which the response is stale; `nil` if it never becomes stale.
        package var freshUntil: Timestamp?
    }
}
