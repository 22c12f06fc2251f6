import Holdfast

extension RuleComparison {
    /// Why no client finds a response anymore, with the settings that decide.
    static let noRoute =
        "no route leads there ('host', 'path', 'origin', 'respond', 'preserve-host', ports of 'listen')"

    /// Returns human-readable lines.
    ///
    /// - Parameters:
    ///   - old: the path of the old file.
    ///   - new: the path of the new file.
    func text(old: String, new: String) -> [String] {
        let counts = summary.counts
        var lines = [
            "\(summary.changed) of \(summary.examined) stored responses change when '\(new)' replaces '\(old)'. "
                + "Nothing was changed."
        ]
        if summary.damaged > 0 {
            lines.append("\(summary.damaged) could not be read. 'cache-dump verify' shows details.")
        }
        if summary.changed > 0 { lines.append("") }
        func row(_ name: String, _ count: Int, _ meaning: String) {
            guard count > 0 else { return }
            let number = "\(count)"
            lines.append(
                "  \(name)\(Self.spaces(11 - name.count))\(Self.spaces(8 - number.count))\(number)  \(meaning)"
            )
        }
        var keys = "looked up under a new key; 'holdfast rules apply' moves them"
        if summary.superseded > 0 { keys += "; \(summary.superseded) replaced by newer responses there" }
        row("key", counts.keys, keys)
        row("lifetime", counts.lifetimes, "fresh for longer or shorter")
        row("staleness", counts.stalenesses, "usable when stale for longer or shorter")
        row("passed by", counts.passedBy, "no longer looked up")
        row("route", counts.routes, Self.noRoute + "; fetched again")
        let schemes = "stored for no scheme that clients use ('listen', 'clients.trusted'); fetched again"
        row("scheme", counts.schemes, schemes)
        row("untold", counts.untold, "unknown: the key depends on data that is not stored; not moved")
        for change in changes {
            lines.append("")
            lines.append(Self.title(change))
            for example in change.examples { lines += Self.text(example) }
        }
        return lines
    }

    private static func title(_ change: Change) -> String {
        let counts = change.counts
        let parts = [
            ("key", counts.keys), ("lifetime", counts.lifetimes), ("staleness", counts.stalenesses),
            ("passed by", counts.passedBy), ("route", counts.routes), ("scheme", counts.schemes),
            ("untold", counts.untold),
        ].filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        guard let rule = change.rule else { return "No rule in either file: \(parts)" }
        let name = rule.hasPrefix("rule ") ? rule : "rule '\(rule)'"
        let line = change.line.map { " (line \($0))" } ?? ""
        switch change.in {
        case .new: return "Because of \(name)\(line): \(parts)"
        case .old: return "Because the old \(name)\(line) no longer applies: \(parts)"
        }
    }

    private static func text(_ example: Example) -> [String] {
        var lines = ["  \(example.method) \(printable(example.url))"]
        if let url = example.newURL { lines.append("      key        \(printable(url))") }
        if example.isOtherVariant == true { lines.append("      key        another variant, selected by other fields") }
        if let lifetime = example.lifetimeSeconds {
            lines.append("      lifetime   \(seconds(lifetime.new)) instead of \(seconds(lifetime.old))")
        }
        if let staleness = example.staleness, let old = staleness.old, let new = staleness.new {
            func changed<Value: Equatable>(_ name: String, _ old: Value, _ new: Value, _ show: (Value) -> String) {
                if old != new { lines.append("      staleness  \(name): \(show(new)) instead of \(show(old))") }
            }
            changed("stale use", old.forbiddenBy, new.forbiddenBy) { $0.map { "forbidden by \($0)" } ?? "allowed" }
            changed("unreachable", old.unreachable, new.unreachable) { $0.map { seconds(Double($0)) } ?? "unlimited" }
            changed("offline", old.offline, new.offline) { $0.map { seconds(Double($0)) } ?? "unlimited" }
            changed("on error", old.onError, new.onError) { $0.map { seconds(Double($0)) } ?? "as the response states" }
            changed("while revalidated", old.whileRevalidate, new.whileRevalidate) {
                $0.map { seconds(Double($0)) } ?? "as the response states"
            }
        }
        if example.isPassedBy == true { lines.append("      passed by") }
        if example.isOfNoRoute == true { lines.append("      route      no route leads there") }
        if example.isOfOtherScheme == true { lines.append("      scheme     stored for no scheme that clients use") }
        if let untold = example.untold {
            let words = untold.map { unknown in
                switch unknown {
                case .principal: "the principal is not stored"
                case .parameters: "the request's parameters are not stored"
                case .fields: "the request's fields are not stored"
                case .content: "the request's content is not stored"
                }
            }
            lines.append("      untold     \(words.joined(separator: ", "))")
        }
        return lines
    }

    private static func seconds(_ value: Double?) -> String {
        guard let value, value < 9e15 else { return "unlimited" }
        guard value == value.rounded() else { return "\(value) s" }
        let seconds = Int64(value)
        // The text must be exact, so that two durations can be distinguished.
        let units: [(Int64, String)] = [(86_400, "d"), (3600, "h"), (60, "m")]
        guard seconds != 0, let (length, unit) = units.first(where: { seconds % $0.0 == 0 }) else {
            return "\(seconds) s"
        }
        return "\(seconds / length) \(unit)"
    }

    private static func spaces(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }

    /// Returns the text in a form that is safe for terminals.
    private static func printable(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            let category = scalar.properties.generalCategory
            if category == .control || category == .format {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }
}
