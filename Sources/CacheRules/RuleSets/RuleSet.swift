import Foundation
public import HTTPCache
public import HTTPTypes

/// Rules that have been checked and compiled.
///
/// Rules from a file and rules created in Swift are treated alike. A table of limited size caches
/// the rules for each request's raw target, so a repeated request usually costs one lookup.
public final class RuleSet: ExchangeRules {
    /// The rules in order.
    public let rules: [Rule]
    package let compiled: CompiledRules

    /// An empty rule set.
    public static let empty = RuleSet(rules: [], compiled: CompiledRules([], values: [:]))

    private init(rules: [Rule], compiled: CompiledRules) {
        self.rules = rules
        self.compiled = compiled
    }

    /// Checks and compiles rules.
    ///
    /// - Parameters:
    ///   - rules: the rules in order. If several match, the first one that has a setting decides
    ///     that setting.
    ///   - environment: the variables in which ``FieldValue/environment(_:)`` is looked up; `nil`
    ///     uses those of this process.
    ///   - folder: the folder to which the paths of ``FieldValue/file(_:)`` are relative; `nil`
    ///     uses the current folder.
    /// - Throws: ``ConfigurationError`` if a rule has an invalid value, contradicts itself or can
    ///   never take effect, or if the value of a field is missing.
    public convenience init(
        _ rules: [Rule],
        environment: [String: String]? = nil,
        folder: String? = nil
    ) throws {
        let sources = FieldSources(
            environment: environment ?? ProcessInfo.processInfo.environment,
            folder: folder
        )
        let checked = CheckedRules(rules, sources: sources)
        guard checked.findings.isEmpty else { throw ConfigurationError(checked.findings) }
        self.init(checked, lowest: [])
    }

    /// Compiles rules that have been checked.
    ///
    /// - Parameter lowest: rules to try after all others. They are not part of ``rules``.
    package convenience init(_ checked: CheckedRules, lowest: [CompiledRules.Entry]) {
        let compiled = CompiledRules(checked.entries + lowest, values: checked.values)
        self.init(rules: checked.entries.map(\.rule), compiled: compiled)
    }

    /// Returns a rule set with these rules, followed by a rule without conditions. The last rule's
    /// settings apply where no other rule decides them.
    ///
    /// - Parameters:
    ///   - settings: the settings. They must not set fields.
    ///   - name: the name in decisions. It is not in ``rules``.
    package func appending(_ settings: RuleSettings, named name: String) -> RuleSet {
        let last = CompiledRules.Entry(
            rule: Rule(name, settings: settings),
            number: compiled.entries.count + 1,
            patterns: [],
            name: name
        )
        return RuleSet(rules: rules, compiled: CompiledRules(compiled.entries + [last], values: compiled.values))
    }

    /// See `ExchangeRules`.
    public func rules(for request: HTTPRequest) -> RequestRules { compiled.rules(for: request) }

    /// The approximate number of requests for which each of ``rules`` decided a setting. See
    /// ``CompiledRules/uses()``.
    package var uses: [Int64] { Array(compiled.uses().prefix(rules.count)) }

    /// See `ExchangeRules`.
    public var havePaths: Bool { compiled.havePaths }

    /// See `ExchangeRules`.
    public func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] {
        compiled.decisions(for: request, contentType: contentType)
    }
}

extension RuleSet: CustomReflectable {
    /// The rules only. The compiled form contains field values and is not shown.
    public var customMirror: Mirror { Mirror(self, children: ["rules": rules]) }
}
