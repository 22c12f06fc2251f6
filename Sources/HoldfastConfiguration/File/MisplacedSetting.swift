import CacheRules

/// Names that are unknown in their place, but belong in another place of the file: `url` in a rule
/// belongs in `match`, and `timeouts` in a route belongs at the top level, in `origins` or in a
/// rule.
enum MisplacedSetting {
    /// A place for names in a file.
    enum Level: CaseIterable {
        case top, route, origin, rule

        /// The names that this level has itself.
        fileprivate var names: [String] {
            switch self {
            case .top:
                ["version", SourceFiles.key, "routes", "origins", "rules"] + TopSetting.groups.keys
                    + TopSetting.all.map(\.name)
            case .route:
                Configuration.Route.settings.map(\.name) + Configuration.FixedRoute.settings.map(\.name)
            case .origin: OriginReader.settings.map(\.name)
            case .rule: ["name", "match"] + Setting.groups.keys + Setting.all.map(\.name)
            }
        }

        /// The names in each group.
        fileprivate var groups: [String: [String]] {
            switch self {
            case .top: TopSetting.groups
            case .rule: Setting.groups.merging(["match": Rule.Match.settings.map(\.name)]) { own, _ in own }
            case .route, .origin: [:]
            }
        }

        /// The groups that have a name. The group that also changes stored responses comes last.
        fileprivate func groups(with name: String) -> [String] {
            groups.filter { $0.value.contains(name) }.keys
                .sorted { ($0 == "from-origin" ? 1 : 0, $0) < ($1 == "from-origin" ? 1 : 0, $1) }
        }

        fileprivate var subject: String {
            switch self {
            case .top: "the top level"
            case .route: "routes"
            case .origin: "origins"
            case .rule: "rules"
            }
        }

        fileprivate var place: String {
            switch self {
            case .top: "at the top level"
            case .route: "in a route"
            case .origin: "in 'origins'"
            case .rule: "in a rule"
            }
        }

        /// The place of a group's settings.
        fileprivate func place(in groups: [String]) -> String {
            "in \(choice(groups.map { "'\($0)'" })) \(self == .top ? "at the top level" : "of a rule")"
        }
    }

    /// Returns a message about an unknown name; `nil` if it belongs in no other place.
    ///
    /// - Parameter known: the names that are known in its place. If one of them is similar, the
    ///   name is probably misspelled.
    static func message(_ name: String, at level: Level, of known: [String]) -> String? {
        guard FormerNames.newName(of: name) == nil else { return nil }
        let groups = level.groups(with: name)
        if let first = groups.first {
            return "'\(name)' belongs in \(choice(groups.map { "'\($0)'" })). Write '\(first): {\(name): …}'."
        }
        // Settings of rules and of the top level may be written with a point, and others not.
        let parts = name.split(separator: ".", maxSplits: 1)
        if parts.count == 2, level.groups.isEmpty || parts[0] == "match", known.contains(String(parts[0])) {
            return "\(shown(name)) is unknown. Write \(shown("\(parts[0]): {\(parts[1]): …}"))."
        }
        let others = Level.allCases.filter { $0 != level }
        var places = others.filter { $0.names.contains(name) }.map(\.place)
        if places.isEmpty, nearest(to: name, of: known) == nil {
            places = others.compactMap { other in
                let groups = other.groups(with: name)
                return groups.isEmpty ? nil : other.place(in: groups)
            }
        }
        guard !places.isEmpty else { return nil }
        return "'\(name)' is not a setting of \(level.subject). Write it \(choice(places))."
    }

    /// Returns a message about an unknown name in a group; `nil` if it belongs in no other place,
    /// or in several.
    static func message(_ name: String, in group: String, at level: Level, of known: [String]) -> String? {
        guard FormerNames.newName(of: name, in: group) == nil, nearest(to: name, of: known) == nil else { return nil }
        let subject = "'\(name)' is not a setting of '\(group)'"
        if level.names.contains(name) {
            return "\(subject). Write it \(level == .top ? "at the top level" : "next to '\(group)'")."
        }
        if let other = Level.allCases.first(where: { $0 != level && $0.groups[group]?.contains(name) == true }) {
            let here = level == .top ? "at the top level" : "in a rule"
            return "\(subject) \(here). Write it \(other.place(in: [group]))."
        }
        // A condition decides when a rule applies, so it never replaces a setting of a group.
        let groups = level.groups(with: name).filter { $0 != "match" }
        return groups.count == 1 ? "\(subject). Write it in '\(groups[0])'." : nil
    }
}
