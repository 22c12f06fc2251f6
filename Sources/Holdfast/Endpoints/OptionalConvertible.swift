public import CacheRules

/// A type for an optional requirement of ``Endpoint``: the value's own type or an optional of it.
///
/// ```swift
/// let principal: String
/// var principal: String? { session?.userID }
/// ```
///
/// Without this protocol, a property of the plain type would compile but be ignored, because the
/// requirement's default satisfies ``Endpoint``.
///
/// To read such a requirement of an unknown endpoint type, use ``asOptional``.
public protocol OptionalConvertible<OptionalWrapped> {
    /// The type of the value, if there is one.
    associatedtype OptionalWrapped
    /// The value; `nil` if there is none.
    var asOptional: OptionalWrapped? { get }
}

extension Optional: OptionalConvertible {
    /// The optional itself.
    public var asOptional: Wrapped? { self }
}

extension String: OptionalConvertible {
    /// The text.
    public var asOptional: String? { self }
}

extension Int: OptionalConvertible {
    /// The number.
    public var asOptional: Int? { self }
}

extension Duration: OptionalConvertible {
    /// The duration.
    public var asOptional: Duration? { self }
}

extension RuleSettings: OptionalConvertible {
    /// The settings.
    public var asOptional: RuleSettings? { self }
}

extension OfflineReads: OptionalConvertible {
    /// The choice.
    public var asOptional: OfflineReads? { self }
}

extension RetryPlan: OptionalConvertible {
    /// The plan.
    public var asOptional: RetryPlan? { self }
}

extension SampleResponse: OptionalConvertible {
    /// The sample.
    public var asOptional: SampleResponse? { self }
}
