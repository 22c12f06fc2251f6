import HTTPCacheSemantics
import HTTPTypes

/// The result of checking rules: the findings, and the input for compiling the rules.
package struct CheckedRules {
    /// The findings, in the order of the rules.
    package private(set) var findings: [ConfigurationError.Finding] = []
    /// The values of fields that cannot be read now, so that their previous value stays in use.
    package private(set) var unreadable: [ConfigurationError.Finding] = []
    /// The rules that can be compiled.
    private(set) var entries: [CompiledRules.Entry] = []
    package private(set) var values: FieldSources.Values = [:]

    /// Checks rules.
    ///
    /// - Parameter skipped: the indices of rules that could not be read completely. Their findings
    ///   were already reported.
    package init(_ rules: [Rule], skipped: Set<Int> = [], sources: FieldSources) {
        checkNames(of: rules)
        for (index, rule) in rules.enumerated() where !skipped.contains(index) {
            var check = RuleCheck(rule, number: index + 1)
            check.run(sources: sources, values: &values)
            findings += check.findings
            unreadable += check.unreadable
            if check.findings.isEmpty {
                entries.append(
                    CompiledRules.Entry(rule: rule, number: index + 1, patterns: check.patterns, name: check.name)
                )
            }
        }
        findings += DeadRules(entries).findings
    }

    /// Returns the text by which messages refer to a rule: `rule 'catalogue'`, `rule 3`.
    package static func subject(_ rule: Rule, number: Int) -> String {
        (rule.location?.written["name"] ?? rule.name).map { "rule \(shown($0))" } ?? "rule \(number)"
    }

    private mutating func checkNames(of rules: [Rule]) {
        var seen: [String: Rule] = [:]
        for (index, rule) in rules.enumerated() {
            guard let name = rule.name else { continue }
            if let first = seen[name] {
                let file = rule.location?.file
                let place = first.location.map { " \(Place($0.file, $0.line, from: file).after)" } ?? ""
                findings.append(
                    RuleCheck(rule, number: index + 1)
                        .finding("name", "Another rule\(place) has this name. Names must be unique.")
                )
            } else {
                seen[name] = rule
            }
        }
    }
}
