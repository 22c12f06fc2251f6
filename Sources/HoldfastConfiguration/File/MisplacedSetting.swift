import CacheRules

/// Names in a rule that belong in one of its groups: `url` in `match`.
enum MisplacedSetting {
    /// Returns a message about a name next to the groups; `nil` if no group has it.
    static func message(_ name: String) -> String? {
        guard FormerNames.newName(of: name) == nil else { return nil }
        let conditions = Rule.Match.settings.map(\.name)
        let settings = Setting.groups.filter { $0.value.contains(name) }.keys.sorted()
        // The group that changes stored responses is named last, and is not the example.
        let isMeantLess = { $0 == "from-origin" }
        let groups =
            (conditions.contains(name) ? ["match"] : []) + settings.filter { !isMeantLess($0) }
            + settings.filter(isMeantLess)
        guard let first = groups.first else { return nil }
        let places = choice(groups.map { "'\($0)'" })
        return "'\(name)' belongs in \(places). Write '\(first): {\(name): …}'."
    }
}
