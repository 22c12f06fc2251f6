import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// Formats values as in a file, but without secrets, for people to read.
enum Writers {
    static func list(_ items: [String]) -> String { "[\(items.joined(separator: ", "))]" }

    static func budget(_ budget: RuleSettings.Budget) -> String {
        switch budget {
        case .unlimited: "unlimited"
        case .limited(let duration): Quantity.written(duration)
        }
    }

    static func directives(_ directives: PolicyOverrides.Directives) -> String {
        let all = Readers.ignorable + Readers.liftable.filter { $0.1 == .invalidated }
        return list(all.filter { directives.contains($0.1) }.map(\.0))
    }

    static func content(_ content: ExchangeSettings.KeyedContent) -> String {
        switch content {
        case .asRequested: "as requested"
        case .any: "any"
        case .graphQL: "graphql"
        }
    }

    static func principal(_ source: ExchangeSettings.PrincipalSource) -> String {
        switch source {
        case .field(let name): "{field: \(name.rawName)}"
        case .cookie(let name): "{cookie: \(name)}"
        }
    }

    static func cookies(_ rule: CookieRule) -> String {
        "{keep: \(list(rule.kept.patterns))\(rule.forwardsAll ? ", forward: all" : "")}"
    }

    static func listedValues(_ values: ListedValues) -> String {
        let groups = [
            ("cookies", values.cookies.map { (name: $0.key, values: $0.value) }),
            ("fields", values.fields.map { (name: $0.key.rawName, values: $0.value) }),
        ]
        let written = groups.filter { !$0.1.isEmpty }.map { group, lists in
            let lists = lists.sorted { $0.name < $1.name }.map { "\($0.name): \(list($0.values))" }
            return "\(group): {\(lists.joined(separator: ", "))}"
        }
        return "{\(written.joined(separator: ", "))}"
    }

    static func off<Value>(_ value: RuleSettings.Switch<Value>, _ written: (Value) -> String) -> String {
        switch value {
        case .off: "off"
        case .on(let value): written(value)
        }
    }

    static func goodDataGuard(_ value: GoodDataGuard) -> String {
        "{empty: \(value.refusesEmpty), other-media-type: \(value.refusesOtherMediaType), "
            + "html: \(value.refusesHTML), smallest-json-share: \(value.minimumJSONShare)}"
    }

    static func fields(_ fields: [HTTPField.Name: FieldValue]) -> String {
        let written = fields.map { (name: $0.key.rawName, value: value($0.value, of: $0.key)) }
            .sorted { $0.name < $1.name }
        return "{\(written.map { "\($0.name): \($0.value)" }.joined(separator: ", "))}"
    }

    private static func value(_ value: FieldValue, of name: HTTPField.Name) -> String {
        switch value {
        // A rule with a literal secret is rejected. Messages about the rule also hide its value.
        case .literal(let text): FieldRules.isSecretByName(name) ? Redaction.placeholder : Redaction.uriText(text)
        case .environment(let variable): "(from the environment: \(variable))"
        case .file(let path): "(from the file: \(path))"
        }
    }
}
