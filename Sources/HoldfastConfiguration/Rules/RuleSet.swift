import Foundation
public import HTTPCache
public import HTTPTypes

/// Rules, checked and compiled.
///
/// The same whether they came from a file or were made of Swift values. What they say of a request
/// is remembered by its raw target, so that a request that comes again costs one look into a table
/// of bounded size.
public final class RuleSet: ExchangeRules {
    /// The rules in their order.
    public let rules: [Rule]
    let compiled: CompiledRules

    /// No rules.
    public static let empty = RuleSet(rules: [], compiled: CompiledRules([], values: [:]))

    private init(rules: [Rule], compiled: CompiledRules) {
        self.rules = rules
        self.compiled = compiled
    }

    /// - Parameters:
    ///   - rules: in their order: of those that match, the first that has a setting decides it.
    ///   - environment: where ``FieldValue/environment(_:)`` is looked up; `nil`: this process's.
    ///   - folder: what the paths of ``FieldValue/file(_:)`` are relative to; `nil`: the current
    ///     folder.
    /// - Throws: ``ConfigurationError``: a rule that contradicts itself, or can never match; a
    ///   field's value that is missing.
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

    /// - Parameter lowest: rules that come after all others, and are in no list.
    convenience init(_ checked: CheckedRules, lowest: [CompiledRules.Entry]) {
        let compiled = CompiledRules(checked.entries + lowest, values: checked.values)
        self.init(rules: checked.entries.map(\.rule), compiled: compiled)
    }

    /// These rules, and settings for all requests where none of them says otherwise.
    ///
    /// - Parameters:
    ///   - settings: without values of fields.
    ///   - name: what decisions call it; it is not among ``rules``.
    package func followed(by settings: RuleSettings, named name: String) -> RuleSet {
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

    /// See `ExchangeRules`.
    public var havePaths: Bool { compiled.havePaths }

    /// See `ExchangeRules`.
    public func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] {
        compiled.decisions(for: request, contentType: contentType)
    }
}

extension RuleSet: CustomReflectable {
    /// The rules. What they compile to holds the values of fields, and is not shown.
    public var customMirror: Mirror { Mirror(self, children: ["rules": rules]) }
}
