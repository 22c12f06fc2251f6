/// The freshness lifetime of a response and its source. RFC 9111 §4.2.1
public struct FreshnessLifetime: Sendable, Hashable {
    /// The source of a lifetime, in order of precedence.
    public enum Source: String, Sendable, Hashable {
        /// The caller's ``StoredResponseHead/explicitExpiry``.
        case explicitExpiry
        /// An operator's rule that applies whatever the response states:
        /// ``PolicyOverrides/lifetime``, ``PolicyOverrides/errorLifetime``.
        case rule
        /// `s-maxage`, in a shared cache.
        case sMaxage
        /// `max-age`
        case maxAge
        /// `Expires` − `Date`
        case expires
        /// An operator's rule for responses that state no lifetime:
        /// ``PolicyOverrides/defaultLifetime``.
        case ruleDefault
        /// A fraction of `Date` − `Last-Modified`. RFC 9111 §4.2.2
        case heuristic
        /// No source: the lifetime is zero.
        case none
    }
    /// The lifetime in milliseconds. The RFC's seconds are clamped at 2³¹ s; an explicit expiry is
    /// not.
    public var milliseconds: Int64
    /// The source of the lifetime.
    public var source: Source

    /// Creates a lifetime.
    package init(milliseconds: Int64, source: Source) {
        self.milliseconds = milliseconds
        self.source = source
    }
}

/// The steps of the age calculation under the RFC's names, in milliseconds and never negative. RFC
/// 9111 §4.2.3
public struct CurrentAge: Sendable, Hashable {
    /// `apparent_age`, in whole seconds because `Date` has no fractions.
    package var apparentAge: Int64
    /// `response_delay`.
    package var responseDelay: Int64
    /// `corrected_age_value`.
    package var correctedAgeValue: Int64
    /// `corrected_initial_age`.
    package var correctedInitialAge: Int64
    /// `resident_time`.
    package var residentTime: Int64
    /// `current_age`.
    public var milliseconds: Int64

    /// Creates an age from its steps.
    package init(
        apparentAge: Int64,
        responseDelay: Int64,
        correctedAgeValue: Int64,
        correctedInitialAge: Int64,
        residentTime: Int64,
        milliseconds: Int64
    ) {
        self.apparentAge = apparentAge
        self.responseDelay = responseDelay
        self.correctedAgeValue = correctedAgeValue
        self.correctedInitialAge = correctedInitialAge
        self.residentTime = residentTime
        self.milliseconds = milliseconds
    }
}

/// The lifetime and the age of a response.
public struct Freshness: Sendable, Hashable {
    /// `freshness_lifetime`.
    public var lifetime: FreshnessLifetime
    /// `current_age`.
    public var age: CurrentAge

    /// Combines a lifetime and an age.
    package init(lifetime: FreshnessLifetime, age: CurrentAge) {
        self.lifetime = lifetime
        self.age = age
    }
    /// `response_is_fresh = (freshness_lifetime > current_age)`.
    public var isFresh: Bool { lifetime.milliseconds > age.milliseconds }
    /// The remaining lifetime in milliseconds; negative if the response is stale. RFC 9211 calls it
    /// `ttl`, in seconds. The value saturates.
    public var millisecondsToLive: Int64 {
        let (difference, overflow) = lifetime.milliseconds.subtractingReportingOverflow(age.milliseconds)
        return overflow ? .min : difference
    }
}
