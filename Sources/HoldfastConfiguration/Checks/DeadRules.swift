import HTTPTypes

/// Rules that can never count, because rules before them match all that they match and decide all
/// that they say.
///
/// What is reported is certain. Not every dead rule is found: whether patterns cover each other
/// cannot always be told.
struct DeadRules {
    private(set) var findings: [ConfigurationError.Finding] = []
    /// So many rules are compared with one at most, the first ones; more that match the same are in
    /// no real file.
    private static let comparisonLimit = 512

    init(_ entries: [CompiledRules.Entry]) {
        let index = RuleIndex(entries.map(\.patterns))
        for (place, entry) in entries.enumerated() {
            var open = entry.settings
            var killers: [Int] = []
            for other in Self.candidates(for: entry, at: place, index).prefix(Self.comparisonLimit)
            where !open.isDisjoint(with: entries[other].settings) && Self.covers(entries[other], entry) {
                open.subtract(entries[other].settings)
                killers.append(other)
                if open.isEmpty { break }
            }
            guard open.isEmpty, !killers.isEmpty else { continue }
            let names = killers.map { Self.described(entries[$0]) }
            findings.append(
                RuleCheck(entry.rule, number: entry.number).finding(
                    nil,
                    "It can never count: \(names.joined(separator: " and ")) "
                        + (names.count == 1 ? "comes first, matches" : "come first, match")
                        + " all that it matches, and \(names.count == 1 ? "decides" : "decide") all its settings. "
                        + "Move it up, or remove it."
                )
            )
        }
    }

    private static func described(_ entry: CompiledRules.Entry) -> String {
        let subject = CheckedRules.subject(entry.rule, number: entry.number)
        return entry.rule.location.map { "\(subject) (line \($0.line))" } ?? subject
    }

    /// Rules before this one with a pattern for each of its patterns, perhaps.
    private static func candidates(for entry: CompiledRules.Entry, at place: Int, _ index: RuleIndex) -> [Int] {
        // What covers a rule about everything is about everything, too: such rules are found with
        // any pattern.
        guard let first = entry.patterns.first else {
            return index.possiblyCovering(.everything, before: place, limit: comparisonLimit).sorted()
        }
        var result = index.possiblyCovering(first, before: place, limit: comparisonLimit)
        for pattern in entry.patterns.dropFirst() {
            result.formIntersection(index.possiblyCovering(pattern, before: place, limit: comparisonLimit))
        }
        return result.sorted()
    }

    private static func covers(_ first: CompiledRules.Entry, _ second: CompiledRules.Entry) -> Bool {
        let patterns = second.patterns.isEmpty ? [CompiledPattern.everything] : second.patterns
        guard
            first.patterns.isEmpty
                || patterns.allSatisfy({ pattern in first.patterns.contains { $0.covers(pattern) } })
        else { return false }
        let methods = first.rule.match.methods
        let its = second.rule.match.methods
        guard methods.isEmpty || !its.isEmpty && its.allSatisfy(methods.contains) else { return false }
        if first.contentTypes.isEmpty { return true }
        return !second.contentTypes.isEmpty
            && second.contentTypes.allSatisfy { type in first.contentTypes.contains { MediaTypes.covers($0, type) } }
    }
}

extension CompiledPattern {
    /// What a rule without patterns is about.
    static let everything = CompiledPattern(
        http: .any,
        https: .any,
        host: Glob("**".utf8, separator: nil),
        path: Glob("/**".utf8, separator: UInt8(ascii: "/")),
        query: nil
    )
}
