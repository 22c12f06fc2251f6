import HTTPTypes

/// Finds rules that can never take effect, because earlier rules match all of their requests and
/// decide all of their settings.
///
/// Every reported rule is dead. Some dead rules are not found, because it is not always possible to
/// decide whether one pattern covers another.
struct DeadRules {
    private(set) var findings: [ConfigurationError.Finding] = []
    /// The maximum number of earlier rules that a rule is compared with, starting with the first.
    /// Real files have fewer rules that match the same targets.
    private static let comparisonLimit = 512

    init(_ entries: [CompiledRules.Entry]) {
        let index = RuleIndex(entries.map(\.patterns))
        // A rule that only restricts applies after the others.
        for (place, entry) in entries.enumerated() where !entry.isRestricting {
            var open = entry.settings
            var killers: [Int] = []
            for other in Self.candidates(for: entry, at: place, index).prefix(Self.comparisonLimit)
            where !open.isDisjoint(with: entries[other].settings) && entries[other].covers(entry) {
                open.subtract(entries[other].settings)
                killers.append(other)
                if open.isEmpty { break }
            }
            guard open.isEmpty, !killers.isEmpty else { continue }
            let file = entry.rule.location?.file
            let names = killers.map { entries[$0].described(from: file) }
            findings.append(
                RuleCheck(entry.rule, number: entry.number).finding(
                    nil,
                    "It can never take effect: \(names.joined(separator: " and ")) "
                        + (names.count == 1 ? "comes first, matches" : "come first, match")
                        + " all of its requests, and \(names.count == 1 ? "decides" : "decide") all of its settings. "
                        + "Move it up, or remove it."
                )
            )
        }
    }

    /// Returns the earlier rules whose patterns may cover every pattern of this rule.
    private static func candidates(for entry: CompiledRules.Entry, at place: Int, _ index: RuleIndex) -> [Int] {
        // Only a rule that matches everything covers another rule that matches everything. The
        // index returns such rules for any pattern.
        guard let first = entry.patterns.first else {
            return index.possiblyCovering(.everything, before: place, limit: comparisonLimit).sorted()
        }
        var result = index.possiblyCovering(first, before: place, limit: comparisonLimit)
        for pattern in entry.patterns.dropFirst() {
            result.formIntersection(index.possiblyCovering(pattern, before: place, limit: comparisonLimit))
        }
        return result.sorted()
    }
}

extension CompiledRules.Entry {
    /// How messages refer to the rule, with its place.
    ///
    /// - Parameter file: the file that the message is about.
    func described(from file: String?) -> String {
        let subject = CheckedRules.subject(rule, number: number)
        return rule.location.map { "\(subject) (\(Place($0.file, $0.line, from: file)))" } ?? subject
    }

    /// Returns whether the rule applies to all requests and responses of another rule. Returns
    /// `false` if this cannot be decided.
    func covers(_ other: Self) -> Bool {
        if isRestricting { return false }
        let its = other.patterns.isEmpty ? [CompiledPattern.everything] : other.patterns
        guard patterns.isEmpty || its.allSatisfy({ pattern in patterns.contains { $0.covers(pattern) } })
        else { return false }
        let (methods, otherMethods) = (rule.match.methods, other.rule.match.methods)
        guard methods.isEmpty || !otherMethods.isEmpty && otherMethods.allSatisfy(methods.contains)
        else { return false }
        if contentTypes.isEmpty { return true }
        return !other.contentTypes.isEmpty
            && other.contentTypes.allSatisfy { type in contentTypes.contains { MediaTypes.covers($0, type) } }
    }
}

extension CompiledPattern {
    /// The pattern of a rule without patterns, which matches every target.
    static let everything = CompiledPattern(
        http: .any,
        https: .any,
        host: Glob("**".utf8, separator: nil),
        path: Glob("/**".utf8, separator: UInt8(ascii: "/")),
        query: nil
    )
}
