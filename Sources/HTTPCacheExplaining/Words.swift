import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// The facts that the sentences of an outcome use.
struct Wording {
    var policy: CachePolicy
    /// The number of stored responses under the key.
    var candidateCount: Int
    /// The milliseconds until a response arrives that is stored by now; `nil` if there is none.
    var timeToArrival: Int64?
    var decisions: [RuleDecision]

    /// Returns the source of a lifetime: `max-age=300`.
    func lifetime(of stored: StoredResponseHead) -> String {
        let lifetime = policy.freshnessLifetime(of: stored)
        let seconds = lifetime.milliseconds / 1000
        if policy.freshnessGrounds(of: stored).isCapped { return "errors stay fresh for at most \(seconds) s" }
        return switch lifetime.source {
        case .explicitExpiry: "set by the caller"
        case .rule:
            stored.status.code < 400
                ? setting("freshness.lifetime", lifetime) : setting("freshness.errors", lifetime)
        case .ruleDefault: setting("freshness.default", lifetime)
        case .sMaxage: "s-maxage=\(seconds)"
        case .maxAge: "max-age=\(seconds)"
        case .expires: "Expires"
        case .heuristic: "estimated from Last-Modified"
        case .none: "the origin sets no lifetime"
        }
    }

    /// Returns text such as `freshness.lifetime 5 m by rule 'catalogue', line 12`.
    private func setting(_ name: String, _ lifetime: FreshnessLifetime) -> String {
        let place = decisions.first { $0.setting == name }.map { " by \($0.place)" } ?? ""
        return "\(name) \(Words.duration(lifetime.milliseconds))\(place)"
    }

    /// Returns the reason that forbids stale use, in words.
    func prohibition(_ name: String) -> String {
        if name == "credentials" {
            return "it was fetched with credentials, and a rule overrides the directive that allows sharing it"
        }
        if name == "cookie" { return Words.cookie }
        if name == "invalidated" { return "a successful unsafe request invalidated it" }
        if name.hasPrefix("stale.") { return "its staleness exceeds '\(name)'\(rule(of: [name]))" }
        return "'\(name)' forbids use without validation"
    }

    /// Returns whether a rule's `stale.on-error` allows a response this stale. If no rule does, the
    /// response or the request allowed it.
    func coversErrors(_ stored: StoredResponseHead, _ freshness: Freshness) -> Bool {
        guard let limit = policy.errorBudget(of: stored) else { return false }
        return freshness.millisecondsToLive >= -limit
    }

    func mode(_ mode: OfflineMode) -> String {
        let decision = decisions.first { $0.setting == "mode" }
        let rule = decision?.value == mode.rawValue ? rule(of: ["mode"]) : ""
        return "the mode is '\(mode.rawValue)'\(rule)"
    }

    /// Returns text such as ` (rule 'catalogue', line 12)`; empty if no rule decided any of these
    /// settings.
    func rule(of settings: [String]) -> String {
        guard let decision = decisions.first(where: { settings.contains($0.setting) }) else { return "" }
        return " (\(decision.place))"
    }
}

extension RuleDecision {
    /// The rule in text such as `rule 'catalogue', line 12`, for people.
    package var place: String {
        let name = rule.hasPrefix("rule ") || rule.hasPrefix("route ") ? rule : "rule '\(rule)'"
        return line.map { "\(name), line \($0)" } ?? name
    }
}

/// Formats human-readable numbers.
package enum Words {
    /// Why a request's cookie prevents the use of a stored response, and the next step.
    static let cookie =
        "the request has a 'Cookie', and the stored response is not marked as shareable; 'cookies.keep' removes cookies that do not matter"

    /// Returns a duration in its two largest units: `3 m 20 s`, `2 d 4 h`. Durations below a second
    /// are in milliseconds.
    ///
    /// - Parameter milliseconds: a negative duration gets a minus sign.
    package static func duration(_ milliseconds: Int64) -> String {
        guard milliseconds >= 0 else { return "-" + duration(milliseconds == .min ? .max : -milliseconds) }
        guard milliseconds >= 1000 else { return "\(milliseconds) ms" }
        let seconds = milliseconds / 1000
        let parts = [
            (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s"),
        ]
        let first = parts.firstIndex { $0.0 > 0 } ?? 3
        return parts[first..<min(first + 2, 4)].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}
