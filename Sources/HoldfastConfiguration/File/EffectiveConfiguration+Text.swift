import CacheRules

extension EffectiveConfiguration: CustomStringConvertible {
    /// Human-readable text, with one line per setting: its value, and its line in the file, its
    /// place in an included file, or `default`.
    package var description: String {
        var lines = ["\(file ?? "configuration"), version \(version)", ""]
        lines += Self.rows(settings, indent: "  ")
        if !routes.isEmpty {
            lines += ["", "Routes: the first route whose host and path match is used."]
            for route in routes { lines += Self.part(route, nothing: "any host and path") }
        }
        if let origins {
            lines += ["", "Origins with their own settings:"]
            for origin in origins { lines += Self.part(origin, nothing: nil) }
        }
        if !rules.isEmpty {
            lines += ["", "Rules: \(precedence)"]
            for rule in rules { lines += Self.part(rule, nothing: "everything") }
        }
        return lines.joined(separator: "\n")
    }

    private static func part(_ part: Part, nothing: String?) -> [String] {
        var lines = ["", "  \(part.name)" + (part.line.map { " (\(Place(part.file, $0, from: nil)))" } ?? "")]
        if !part.conditions.isEmpty {
            lines += rows(part.conditions, indent: "    ")
        } else if let nothing {
            lines.append("    for \(nothing)")
        }
        return lines + rows(part.settings, indent: "    ")
    }

    private static func rows(_ settings: [Setting], indent: String) -> [String] {
        let width = settings.map(\.name.count).max() ?? 0
        return settings.map { setting in
            let name = setting.name + String(repeating: " ", count: width - setting.name.count)
            let place = setting.line.map { "  (\(Place(setting.file, $0, from: nil)))" } ?? ""
            let source = setting.isDefault ? "  (default)" : place
            return "\(indent)\(name)  \(setting.value ?? "-")\(source)"
        }
    }
}
