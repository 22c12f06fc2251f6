package import HTTPCache
package import HTTPCacheSemantics
package import HTTPTypes

/// Formats values as in a file, but without secrets, for people to read.
package enum Writers {
    package static func list(_ items: [String]) -> String { "[\(items.map(item).joined(separator: ", "))]" }

    /// Returns the members of texts that were meant as lists: `a, b` is `a` and `b`.
    static func separated(_ texts: [String]) -> [String] {
        texts.flatMap { $0.split(separator: ",") }.map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
    }

    /// Quotes text that would otherwise look like several members of a list, or like another list.
    package static func item(_ text: String) -> String {
        guard text.contains(",") || text.hasPrefix("[") else { return text }
        return "\"\(text.replacing("\"", with: "\\\""))\""
    }

    package static func budget(_ budget: RuleSettings.Budget) -> String {
        switch budget {
        case .unlimited: "unlimited"
        case .limited(let duration): Quantity.written(duration)
        }
    }

    package static func directives(_ directives: PolicyOverrides.Directives) -> String {
        let all = Readers.ignorable + Readers.liftable.filter { $0.1 == .invalidated }
        return list(all.filter { directives.contains($0.1) }.map(\.0))
    }

    package static func content(_ content: ExchangeSettings.KeyedContent) -> String {
        switch content {
        case .asRequested: "as requested"
        case .any: "any"
        case .graphQL: "graphql"
        case .json: "json"
        }
    }

    static func eventStreams(_ rule: EventStreamRule) -> String {
        "{largest: \(Quantity.written(bytes: rule.largest)), ends-with: \"\(rule.ending)\"}"
    }

    package static func principal(_ source: ExchangeSettings.PrincipalSource) -> String {
        switch source {
        case .field(let name): "{field: \(name.rawName)}"
        case .cookie(let name): "{cookie: \(name)}"
        }
    }

    package static func cookies(_ rule: CookieRule) -> String {
        "{keep: \(list(rule.kept.patterns))\(rule.forwardsAll ? ", forward: all" : "")}"
    }

    package static func listedValues(_ values: ListedValues) -> String {
        let groups = [
            ("cookies", values.cookies), ("fields", byName(values.fields)),
        ].filter { !$0.1.isEmpty }
        return "{\(groups.map { "\($0.0): \(valuesByName($0.1))" }.joined(separator: ", "))}"
    }

    /// The conditions on requests, by their names in a file. They never contain a value of a
    /// credential.
    package static func conditions(_ conditions: RequestRestriction.Conditions) -> [(name: String, value: String)] {
        let fields = byName(conditions.fields)
        let groups = [("match.cookie", conditions.cookies), ("match.field", fields), ("match.query", conditions.query)]
        return groups.filter { !$0.1.isEmpty }.map { (name: $0.0, value: valuesByName($0.1)) }
    }

    private static func byName(_ fields: [HTTPField.Name: [String]]) -> [String: [String]] {
        var result: [String: [String]] = [:]
        for (name, values) in fields { result[name.rawName] = values }
        return result
    }

    private static func valuesByName(_ lists: [String: [String]]) -> String {
        if lists.values.allSatisfy(\.isEmpty) { return list(lists.keys.sorted()) }
        let written = lists.sorted { $0.key < $1.key }.map { "\($0.key): \(list($0.value))" }
        return "{\(written.joined(separator: ", "))}"
    }

    package static func off<Value>(_ value: RuleSettings.Switch<Value>, _ written: (Value) -> String) -> String {
        switch value {
        case .off: "off"
        case .on(let value): written(value)
        }
    }

    package static func goodDataGuard(_ value: GoodDataGuard) -> String {
        "{empty: \(value.refusesEmpty), other-media-type: \(value.refusesOtherMediaType), "
            + "html: \(value.refusesHTML), smallest-json-share: \(value.minimumJSONShare)}"
    }

    package static func fields(_ fields: [HTTPField.Name: FieldValue]) -> String {
        let written = fields.map { (name: $0.key.rawName, value: value($0.value, of: $0.key)) }
            .sorted { $0.name < $1.name }
        return "{\(written.map { "\($0.name): \($0.value)" }.joined(separator: ", "))}"
    }

    private static func value(_ value: FieldValue, of name: HTTPField.Name) -> String {
        switch value {
        // A rule with a literal secret is rejected. Messages about the rule also hide its value.
        case .literal(let text): SettableFields.isSecretByName(name) ? Redaction.placeholder : Redaction.uriText(text)
        case .environment(let variable): "(from the environment: \(variable))"
        case .file(let path): "(from the file: \(path))"
        }
    }
}
