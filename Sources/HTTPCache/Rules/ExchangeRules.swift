public import HTTPTypes

/// The source of an engine's rules.
public protocol ExchangeRules: Sendable {
    /// Returns the rules for a request, based only on its method and target. Its cookies, fields
    /// and query can only restrict them: ``RequestRules/restrictions``.
    ///
    /// The engine calls this once for each exchange, including hits. The method must therefore
    /// cache its results, and must not block.
    func rules(for request: HTTPRequest) -> RequestRules

    /// Whether any rule applies only to some paths. If so, a gateway rejects targets with dot
    /// segments, because an origin could resolve such a target to a path with different rules.
    var havePaths: Bool { get }

    /// Returns the rule that decided each setting that differs from the default. The result is
    /// shown to people.
    ///
    /// - Parameter contentType: the content type of the response in question; `nil` if there is
    ///   none.
    func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision]
}

extension ExchangeRules {
    /// Always `false`.
    public var havePaths: Bool { false }
}

/// A setting and the rule that decided it.
public struct RuleDecision: Sendable, Hashable, Codable {
    /// The name of the setting in a file, such as `freshness.lifetime`.
    public var setting: String
    /// The setting's value in the file's format; never a secret.
    public var value: String
    /// The rule's name, or `rule 3` if it has none.
    public var rule: String
    /// The line of the setting in the file; `nil` for rules created in Swift code.
    public var line: Int?

    /// Creates a decision.
    public init(setting: String, value: String, rule: String, line: Int? = nil) {
        self.setting = setting
        self.value = value
        self.rule = rule
        self.line = line
    }
}
