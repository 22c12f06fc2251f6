import HTTPCache
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastGateway
import StoreFiles

/// The effect on stored responses of replacing one configuration with another. Counts the changes
/// by the rule that decides them.
struct RuleComparison {
    /// A rule and its changes.
    struct Change: Encodable {
        let kind = "rule"
        /// The rule; `nil` if no rule decides.
        var rule: String?
        /// The configuration that contains the rule.
        var `in`: Side
        var line: Int?
        var counts = Counts()
        var examples: [Example] = []

        private enum CodingKeys: String, CodingKey {
            case kind, rule, `in`, line, examples
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(kind, forKey: .kind)
            try container.encodeIfPresent(rule, forKey: .rule)
            try container.encode(`in`, forKey: .in)
            try container.encodeIfPresent(line, forKey: .line)
            try container.encode(examples, forKey: .examples)
            try counts.encode(to: encoder)
        }
    }

    /// One of the two configurations.
    enum Side: String, Encodable, Hashable {
        case old, new
    }

    /// The number of responses for each kind of change.
    struct Counts: Encodable {
        var keys = 0
        var lifetimes = 0
        var stalenesses = 0
        var passedBy = 0
        var routes = 0
        var schemes = 0
        var untold = 0
    }

    /// The totals for all responses.
    struct Summary: Encodable {
        let kind = "summary"
        /// The number of examined responses.
        var examined = 0
        /// The number of responses for which anything changes.
        var changed = 0
        /// The number of responses whose new key also belongs to another response that was received
        /// later.
        var superseded = 0
        /// The number of responses that could not be read.
        var damaged = 0
        var counts = Counts()

        private enum CodingKeys: String, CodingKey {
            case kind, examined, changed, superseded, damaged
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(kind, forKey: .kind)
            try container.encode(examined, forKey: .examined)
            try container.encode(changed, forKey: .changed)
            try container.encode(superseded, forKey: .superseded)
            try container.encode(damaged, forKey: .damaged)
            try counts.encode(to: encoder)
        }
    }

    /// A stored response and its changes.
    struct Example: Encodable {
        struct Pair<Value: Encodable>: Encodable {
            var old: Value?
            var new: Value?
        }

        var method: String
        /// The stored URL, with its secrets replaced.
        var url: String
        /// The URL in the new key, if it differs.
        var newURL: String?
        /// Whether other fields now select the response's variant.
        var isOtherVariant: Bool?
        /// The lifetime in seconds; `nil` means no limit.
        var lifetimeSeconds: Pair<Double>?
        var staleness: Pair<RuledResponse.Staleness>?
        var isPassedBy: Bool?
        /// Whether no client finds it anymore, because no route leads to it.
        var isOfNoRoute: Bool?
        /// Whether no client finds it anymore, because of the schemes that clients use.
        var isOfOtherScheme: Bool?
        var untold: [RuledResponse.Unknown]?
    }

    private struct RuleName: Hashable {
        var side: Side
        var rule: String?
        var line: Int?
    }

    private let old: HoldfastConfiguration.Configuration
    private let new: HoldfastConfiguration.Configuration
    /// The routes of the two files; `nil` for a library.
    private let oldRoutes: ClientRoutes?
    private let newRoutes: ClientRoutes?
    private let policy: CachePolicy
    private let exampleLimit: Int
    private var byRule: [RuleName: Change] = [:]
    /// Hashes of the examined keys and variants. Only hashes are kept, so that a large store needs
    /// little memory.
    private var places: Set<Int> = []
    private(set) var summary = Summary()

    /// - Parameter exampleLimit: the maximum number of examples for each rule.
    init(
        old: HoldfastConfiguration.Configuration,
        new: HoldfastConfiguration.Configuration,
        policy: CachePolicy,
        exampleLimit: Int
    ) {
        self.old = old
        self.new = new
        // Without valid routes, no gateway serves the file.
        oldRoutes = try? (old.leadsNowhere ? nil : ClientRoutes(of: old))
        newRoutes = try? (new.leadsNowhere ? nil : ClientRoutes(of: new))
        self.policy = policy
        self.exampleLimit = exampleLimit
    }

    /// The changes, starting with the rules that change the most responses.
    var changes: [Change] {
        byRule.values.sorted {
            ($1.counts.total, $0.line ?? 0, $0.rule ?? "") < ($0.counts.total, $1.line ?? 0, $1.rule ?? "")
        }
    }

    mutating func addUnreadable() { summary.damaged += 1 }

    /// Compares one response.
    mutating func add(_ stored: StoredResponse) {
        let before = RuledResponse(stored, rules: old.rules, policy: policy)
        let after = RuledResponse(stored, rules: new.rules, policy: policy)
        summary.examined += 1
        let variants = (VariantKey.bytes(of: stored.head), VariantKey.bytes(of: after.head))
        if !places.insert([after.key.bytes, variants.1].hashValue).inserted { summary.superseded += 1 }
        let unknowns = after.unknowns(since: before)
        var example = Example(method: after.request.method.rawValue, url: stored.key.components.target.redacted)
        var rules: [RuleName: Counts] = [:]
        func count(_ count: WritableKeyPath<Counts, Int>, _ names: Set<RuleName>) {
            summary.counts[keyPath: count] += 1
            for name in names { rules[name, default: Counts()][keyPath: count] = 1 }
        }
        let decisions = Decisions(stored, before, old: old.rules, new: new.rules)
        if after.key != stored.key || variants.0 != variants.1 {
            if after.key != stored.key { example.newURL = after.key.components.target.redacted }
            if variants.0 != variants.1 { example.isOtherVariant = true }
            count(\.keys, decisions.deciding(Self.keySettings))
        }
        if before.freshUntil != after.freshUntil {
            example.lifetimeSeconds = .init(old: Self.seconds(before.lifetime), new: Self.seconds(after.lifetime))
            count(\.lifetimes, decisions.changing(Self.lifetimeSettings))
        }
        if before.staleness != after.staleness {
            example.staleness = .init(old: before.staleness, new: after.staleness)
            count(\.stalenesses, decisions.changing(Self.stalenessSettings))
        }
        if after.isPassedBy, !before.isPassedBy {
            example.isPassedBy = true
            count(\.passedBy, decisions.changing(Self.storingSettings))
        }
        let target = stored.key.components.target
        if oldRoutes?.find(target) == true, newRoutes?.find(target) == false {
            example.isOfNoRoute = true
            count(\.routes, [RuleName(side: .new)])
        }
        if before.isFound(on: oldRoutes, byClientsUsing: old.clientSchemes),
            !after.isFound(on: newRoutes, byClientsUsing: new.clientSchemes)
        {
            example.isOfOtherScheme = true
            count(\.schemes, decisions.changing(Self.schemeSettings))
        }
        if !unknowns.isEmpty {
            example.untold = unknowns.sorted { $0.rawValue < $1.rawValue }
            count(\.untold, decisions.changing(Self.unknownSettings))
        }
        if rules.isEmpty { return }
        summary.changed += 1
        for (name, counts) in rules {
            var change = byRule[name] ?? Change(rule: name.rule, in: name.side, line: name.line)
            change.counts.add(counts)
            if change.examples.count < exampleLimit { change.examples.append(example) }
            byRule[name] = change
        }
    }

    private static func seconds(_ milliseconds: Int64) -> Double? {
        milliseconds == .max ? nil : Double(milliseconds) / 1000
    }

    // MARK: Deciding rules

    private static let keySettings: Set<String> = [
        "normalize.sort-parameters", "normalize.drop-parameters", "normalize.accept-encoding", "ignore.parameters",
        "ignore.fields",
    ]
    private static let lifetimeSettings: Set<String> = [
        "freshness.lifetime", "freshness.default", "freshness.errors", "ignore.directives", "store.per",
    ]
    private static let stalenessSettings: Set<String> = [
        "stale.while-revalidate", "stale.unreachable", "stale.on-error", "stale.offline", "stale.ignore",
        "ignore.directives", "store.per",
    ]
    private static let storingSettings: Set<String> = ["bypass", "credentials", "store.methods", "store.statuses"]
    private static let schemeSettings: Set<String> = ["ignore.fields", "to-origin.remove", "to-origin.set"]
    private static let unknownSettings: Set<String> = [
        "store.per", "cookies", "vary", "ignore.parameters", "ignore.fields", "to-origin.remove", "to-origin.set",
        "store.content", "ignore.members",
    ]

    /// The decisions of the rules for one response, before and after the change.
    private struct Decisions {
        var old: [RuleDecision]
        var new: [RuleDecision]
        private let rules: [Side: RuleSet]

        init(_ stored: StoredResponse, _ filing: RuledResponse, old: RuleSet, new: RuleSet) {
            let contentType = stored.head.fields[.contentType]
            self.old = old.decisions(for: filing.request, contentType: contentType)
            self.new = new.decisions(for: filing.request, contentType: contentType)
            rules = [.old: old, .new: new]
        }

        /// Returns the new rules that decide one of these settings.
        func deciding(_ settings: Set<String>) -> Set<RuleName> {
            named(new.filter { settings.contains($0.setting) }, .new)
        }

        /// Returns the new rules that decide differently. If there are none, returns the old rules
        /// whose decisions are gone.
        func changing(_ settings: Set<String>) -> Set<RuleName> {
            func isDecided(_ decision: RuleDecision, _ decisions: [RuleDecision]) -> Bool {
                decisions.contains { $0.setting == decision.setting && $0.value == decision.value }
            }
            let added = new.filter { settings.contains($0.setting) && !isDecided($0, old) }
            if !added.isEmpty { return named(added, .new) }
            return named(old.filter { settings.contains($0.setting) && !isDecided($0, new) }, .old)
        }

        private func named(_ decisions: [RuleDecision], _ side: Side) -> Set<RuleName> {
            if decisions.isEmpty { return [RuleName(side: side)] }
            return Set(decisions.map { RuleName(side: side, rule: $0.rule, line: line(of: $0.rule, side)) })
        }

        /// Returns the line on which a rule begins. With the lines of individual settings, each
        /// setting of a rule would be counted separately.
        private func line(of name: String, _ side: Side) -> Int? {
            let rules = rules[side]?.rules ?? []
            let index = rules.indices.first { (rules[$0].name ?? "rule \($0 + 1)") == name }
            return index.flatMap { rules[$0].location?.line }
        }
    }
}

extension RuleComparison.Counts {
    var total: Int { keys + lifetimes + stalenesses + passedBy + routes + schemes + untold }

    mutating func add(_ other: Self) {
        keys += other.keys
        lifetimes += other.lifetimes
        stalenesses += other.stalenesses
        passedBy += other.passedBy
        routes += other.routes
        schemes += other.schemes
        untold += other.untold
    }
}
