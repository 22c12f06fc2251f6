import HTTPCacheSemantics

/// Finds the rules whose patterns may match a target, without comparing the other patterns.
///
/// A lookup compares the end of the host, then the start of the path up to the first star, then the
/// bytes between or after stars (``LiteralIndex``).
struct RuleIndex: Sendable {
    struct Entry: Sendable {
        var pattern: CompiledPattern
        var rule: Int
    }

    private let table: PrefixTable<PrefixTable<LiteralIndex>>
    /// The rules without patterns, in order.
    private let unconditional: [Int]

    /// Creates an index of the rules' patterns.
    ///
    /// - Parameter patterns: the patterns of each rule; a rule without patterns matches all
    ///   targets.
    init(_ patterns: [[CompiledPattern]]) {
        var entries: [[UInt8]: [[UInt8]: [Entry]]] = [:]
        for (rule, patterns) in patterns.enumerated() {
            for pattern in patterns {
                entries[Self.hostEnd(pattern), default: [:]][pattern.path.prefix, default: []]
                    .append(Entry(pattern: pattern, rule: rule))
            }
        }
        table = PrefixTable(entries.mapValues { PrefixTable($0.mapValues { LiteralIndex($0) }) })
        unconditional = patterns.indices.filter { patterns[$0].isEmpty }
    }

    /// Returns the literal end of the host, reversed, so that it can be looked up as a prefix.
    private static func hostEnd(_ pattern: CompiledPattern) -> [UInt8] {
        (pattern.host.hasStar ? pattern.host.suffix : pattern.host.prefix).reversed()
    }

    /// The rules that match a target.
    struct Matches {
        /// The indices of the rules, in order.
        var rules: [Int]
        /// Whether other rules could match with a different query.
        var dependOnQuery: Bool
        /// The number of patterns that were compared with the target: the cost of the match.
        var comparisons: Int
    }

    func matches(_ target: TargetParts, where isRelevant: (Int) -> Bool) -> Matches {
        var found = Set<Int>()
        var dependOnQuery = false
        var comparisons = 0
        table.forEach(startOf: target.host.reversed()) { _, paths in
            paths.forEach(startOf: target.path) { _, index in
                index.forEach(in: target.path) { entry in
                    comparisons += 1
                    guard entry.pattern.matchesBase(target), isRelevant(entry.rule) else { return }
                    if entry.pattern.query != nil { dependOnQuery = true }
                    if entry.pattern.matchesQuery(target) { found.insert(entry.rule) }
                }
            }
        }
        found.formUnion(unconditional.lazy.filter(isRelevant))
        return Matches(rules: found.sorted(), dependOnQuery: dependOnQuery, comparisons: comparisons)
    }

    /// Returns the rules before `rule` that have a pattern that may cover `pattern`. A covering
    /// pattern never has a longer literal prefix than the pattern that it covers.
    ///
    /// - Parameter limit: the maximum number of rules per prefix, so that rules with the same
    ///   prefix are not all compared with each other.
    func possiblyCovering(_ pattern: CompiledPattern, before rule: Int, limit: Int) -> Set<Int> {
        var found = Set(unconditional.prefix { $0 < rule }.prefix(limit))
        table.forEach(startOf: Self.hostEnd(pattern)) { _, paths in
            paths.forEach(startOf: pattern.path.prefix) { _, index in
                for entry in index.all.prefix(limit) {
                    guard entry.rule < rule else { break }
                    found.insert(entry.rule)
                }
            }
        }
        return found
    }
}
