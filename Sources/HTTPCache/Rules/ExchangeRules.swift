public import HTTPTypes

/// Where an engine's rules come from.
public protocol ExchangeRules: Sendable {
    /// What holds for a request, by its method and target alone.
    ///
    /// Asked once for each exchange, hits included: it remembers, and never waits.
    func rules(for request: HTTPRequest) -> RequestRules

    /// Whether any of them is about some paths only. Then a gateway refuses targets with dot
    /// segments: an origin could resolve one to a path that another rule is about.
    var havePaths: Bool { get }

    /// Which rule decided each setting that is not as by default, for people.
    ///
    /// - Parameter contentType: of the response in question; `nil` where there is none.
    func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision]
}

extension ExchangeRules {
    /// `false`.
    public var havePaths: Bool { false }
}

/// One setting, and the rule that decided it.
public struct RuleDecision: Sendable, Hashable, Codable {
    /// The setting as it is written in a file: `freshness.lifetime`.
    public var setting: String
    /// Its value as it is written in a file; never a secret.
    public var value: String
    /// The rule's name, or `rule 3` where it has none.
    public var rule: String
    /// The line of the file on which the setting stands; `nil` for rules that were made of Swift
    /// values.
    public var line: Int?

    /// A decision.
    public init(setting: String, value: String, rule: String, line: Int? = nil) {
        self.setting = setting
        self.value = value
        self.rule = rule
        self.line = line
    }
}
