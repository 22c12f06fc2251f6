import HTTPCache
import HTTPCacheExplaining
import Holdfast
import HoldfastGateway

/// An explanation as text for people: the outcome, its reasons, the freshness calculation, and
/// other outcomes.
struct ExplanationText {
    let explanation: Explanation
    /// The gateway's own response; `nil` if the request reaches the cache.
    var answer: GatewayAnswer?
    /// How the command line and the configuration led to the target: the route and the kind of
    /// cache.
    var notes: [String] = []

    /// The maximum number of changes in the text. `--format json` shows all of them.
    private static let changeLimit = 6

    var lines: [String] {
        let summary = answer?.summary ?? explanation.now.summary
        var lines = [summary, "", "\(explanation.request.method) \(explanation.request.target)"]
        lines += facts(about)
        // Stored responses are shown even if no client gets them. The cache never sees the request,
        // so its forecasts do not matter.
        if answer != nil { return (lines + stored).map(Self.printable) }
        lines += section("rules", explanation.rules.map { ($0.setting, "\($0.value) (\($0.place))") })
        lines += stored
        lines += arithmetic
        lines += section("otherwise", otherwise)
        lines += changes
        return lines.map(Self.printable)
    }

    // MARK: Request and key

    private var about: [(String, String)] {
        var facts = [("at", Instant.text(explanation.at))]
        facts.append(("cache", "\(explanation.cache), mode '\(explanation.mode.rawValue)'"))
        facts += notes.map { ("", $0) }
        if explanation.request.sentTarget != explanation.request.target {
            facts.append(("sent as", explanation.request.sentTarget))
        }
        facts += explanation.request.fields.map { ("field", "\($0.name): \($0.value)") }
        facts += explanation.request.changes.map { change in
            let place = change.rule.map {
                RuleDecision(setting: change.setting, value: "", rule: $0, line: change.line).place
            }
            return ("changed", change.summary + (place.map { " (\($0))" } ?? ""))
        }
        if let key = explanation.key {
            facts.append(("key", "\(key.method) \(key.target)"))
            if let content = key.content { facts.append(("", "content with SHA-256 \(content.prefix(16))…")) }
            facts.append(("", partition(key) + (key.shortID.map { "; cache-dump calls it \($0)" } ?? "")))
        }
        if !explanation.isStoreReadable {
            facts.append(("store", "cannot be read, so nothing is served from it"))
        }
        if let origin = explanation.origin {
            if origin.isOriginUnreachable { facts.append(("origin", "circuit breaker is open")) }
            if let failure = origin.recentFailure { facts.append(("origin", "failed moments ago: \(failure)")) }
        }
        return facts
    }

    private func partition(_ key: Explanation.Key) -> String {
        let owner =
            switch key.partition {
            case "common": "common"
            case "principal": "for the named principal"
            case "job": "for the job"
            default: "for the user with these credentials"
            }
        return key.looksInCommon ? "\(owner), then common" : owner
    }

    // MARK: Stored

    private var stored: [String] {
        guard !explanation.variants.isEmpty else { return [] }
        let rows = explanation.variants.map { variant in
            ((variant.isSelected ? "→ " : "  ") + "\(variant.id)", describe(variant))
        }
        return section("stored", rows)
    }

    private func describe(_ variant: Explanation.Variant) -> String {
        let age = explanation.at.milliseconds(since: variant.storedAt)
        var words = ["\(variant.status)", age >= 0 ? "stored \(Words.duration(age)) earlier" : "stored later"]
        words.append("\(variant.bodyLength) bytes")
        words.append(variant.partition == "common" ? "common" : "private")
        if variant.isInvalidated { words.append("invalidated") }
        if variant.isBodyGone { words.append("body removed") }
        var text = words.joined(separator: ", ")
        if variant.isSelected, let selection = explanation.selection { text += ": \(selection)" }
        if !variant.isMatching { text += ": " + variant.differences.map(difference).joined(separator: "; ") }
        return text
    }

    private func difference(_ difference: Explanation.Difference) -> String {
        if difference.name == "*" { return "'Vary: *' matches no other request" }
        func words(_ value: String?) -> String { value.map { "'\($0)'" } ?? "absent" }
        let (stored, presented) = (words(difference.stored), words(difference.presented))
        // Two different secrets look the same after redaction.
        return stored == presented && difference.stored != nil
            ? "made for another '\(difference.name)'"
            : "made for \(difference.name) \(stored); this request has \(presented)"
    }

    // MARK: Calculation

    private var arithmetic: [String] {
        guard let freshness = explanation.freshness else { return [] }
        let date = freshness.dateValue.map(Instant.text) ?? "no valid Date; time of receipt used"
        let age = freshness.ageValue.map { "Age: \($0 / 1000)" } ?? "no valid Age"
        var source = freshness.lifetimeFields.map { "\($0.name): \($0.value)" }.joined(separator: "; ")
        if source.isEmpty {
            let isError = explanation.variants.contains { $0.isSelected && $0.status >= 400 }
            source =
                freshness.lifetimeSource == "rule" && isError
                ? "freshness.errors" : Self.sources[freshness.lifetimeSource] ?? freshness.lifetimeSource
        }
        let rule = explanation.rules.first { $0.setting.hasPrefix("freshness.") && source == $0.setting }
        if let rule { source += " (\(rule.place))" }
        let until = freshness.freshUntil.map { "\(freshness.isFresh ? "until" : "since") \(Instant.text($0))" }
        return section(
            "freshness, in seconds (RFC 9111 §4.2)",
            [
                ("apparent_age", seconds(freshness.apparentAge) + "response_time - date_value (\(date))"),
                ("response_delay", seconds(freshness.responseDelay) + "response_time - request_time"),
                ("corrected_age_value", seconds(freshness.correctedAgeValue) + "age_value (\(age)) + response_delay"),
                (
                    "corrected_initial_age",
                    seconds(freshness.correctedInitialAge) + "the larger of apparent_age and corrected_age_value"
                ),
                (
                    "resident_time",
                    seconds(freshness.residentTime) + "now - response_time (\(Instant.text(freshness.responseTime)))"
                ),
                ("current_age", seconds(freshness.currentAge) + "corrected_initial_age + resident_time"),
                ("freshness_lifetime", seconds(freshness.freshnessLifetime) + source),
                ("response_is_fresh", Self.padded(freshness.isFresh ? "yes" : "no", to: 12) + (until ?? "always")),
            ]
        )
    }

    private static let sources = [
        "explicitExpiry": "set by the caller", "none": "none set by the origin, and no heuristic applies",
        "rule": "freshness.lifetime", "ruleDefault": "freshness.default",
    ]

    private func seconds(_ milliseconds: Int64) -> String {
        guard milliseconds < .max else { return Self.padded("unlimited", to: 12) }
        let rest = milliseconds % 1000
        let fraction = rest == 0 ? "" : "." + String(1000 + rest).dropFirst()
        return Self.padded("\(milliseconds / 1000)\(fraction)", to: 12)
    }

    // MARK: Otherwise

    private var otherwise: [(String, String)] {
        [
            ("origin unreachable", explanation.unreachable.summary),
            ("origin returns 503", explanation.failing.summary),
            ("mode 'offline'", explanation.offline.summary),
        ].map { ($0, $1 == explanation.now.summary ? "Same as now." : $1) }
    }

    private var changes: [String] {
        guard !explanation.changes.isEmpty else { return [] }
        var lines = ["", "later"]
        for change in explanation.changes.prefix(Self.changeLimit) {
            let distance = Words.duration(change.at.milliseconds(since: explanation.at))
            lines.append("  in \(distance), \(Instant.text(change.at)): end of \(change.ending)")
            for (name, verdict) in [
                ("now", change.now), ("origin unreachable", change.unreachable), ("origin returns 503", change.failing),
                ("mode 'offline'", change.offline),
            ] {
                if let verdict { lines.append("    " + Self.padded(name, to: 20) + verdict.summary) }
            }
        }
        let rest = explanation.changes.count - Self.changeLimit
        if rest > 0 { lines.append("  \(rest) more changes; '--format json' shows all of them") }
        return lines
    }

    // MARK: Layout

    private func section(_ title: String, _ rows: [(String, String)]) -> [String] {
        rows.isEmpty ? [] : ["", title] + facts(rows)
    }

    private func facts(_ rows: [(String, String)]) -> [String] {
        let width = max(8, rows.map(\.0.count).max() ?? 0) + 2
        return rows.map { "  " + Self.padded($0.0, to: width) + $0.1 }
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// Returns the text in a form that is safe for terminals.
    private static func printable(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            let isDisturbing =
                scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
            result += isDisturbing ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }
    }
}
