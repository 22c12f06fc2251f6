public import HTTPTypes

/// The source of an engine's rules.
public protocol ExchangeRules: Sendable {
    /// The rules for a request, by its method and target alone.
    ///
    /// The engine calls it once for each exchange, hits included. So it must remember its results
    /// and must not wait.
    func rules(for request: HTTPRequest) -> RequestRules

    /// Whether any rule applies to some paths only. If so, a gateway rejects targets with dot
    /// segments: an origin could resolve one to a path to which another rule applies.
    var havePaths: Bool { get }

    /// The rule that decided each setting that differs from the default, for people.
    ///
    /// - Parameter contentType: of the response in question; `nil` if there is none.
    func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision]
}

extension ExchangeRules {
    /// `false`.
    public var havePaths: Bool { false }
}

/// One setting, and the rule that decided it.
public struct RuleDecision: Sendable, Hashable, Codable {
    /// The name of the setting in a file: `freshness.lifetime`.
    public var setting: String
    /// Its value as written in a file; never a secret.
    public var value: String
    /// The rule's name, or `rule 3` if it has none.
    public var rule: String
    /// The line of the file with the setting; `nil` for rules that were made of Swift values.
    public var line: Int?

    /// A decision.
    public init(setting: String, value: String, rule: String, line: Int? = nil) {
        self.setting = setting
        self.value = value
        self.rule = rule
        self.line = line
    }
}
