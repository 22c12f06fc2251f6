import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension RuleSet {
    /// Warnings about valid rules that probably do not do what their author meant.
    package var effectWarnings: [ConfigurationError.Finding] {
        var warnings: [ConfigurationError.Finding] = []
        for entry in compiled.entries.prefix(rules.count) {
            let check = RuleCheck(entry.rule, number: entry.number)
            warnings += entry.rule.match.urls.compactMap(\.hint).map { check.finding("match.url", $0) }
            if let message = unstoredPost(entry.rule) { warnings.append(check.finding("store.methods", message)) }
            warnings += droppedCookies(of: entry).map { check.finding("match.cookie", $0) }
        }
        return warnings
    }

    /// Returns a warning if POST is to be stored, but no rule says how its content is keyed.
    private func unstoredPost(_ rule: Rule) -> String? {
        guard let methods = rule.settings.store.methods, methods.contains(.post),
            !rules.contains(where: { $0.settings.store.content != nil })
        else { return nil }
        let isAlone = !methods.contains { $0 == .get || $0.rawValue == "QUERY" }
        return "Responses to POST are stored only with 'store.content'\(isAlone ? ", so nothing is stored" : ""). "
            + "Add 'content: any' or 'content: graphql' to 'store'."
    }

    /// Returns a warning for each cookie of a rule's condition that another rule removes from the
    /// same requests. The origin then cannot see why the request bypasses the store.
    private func droppedCookies(of entry: CompiledRules.Entry) -> [String] {
        let names = entry.rule.match.request.cookies.keys.sorted()
        guard !names.isEmpty, entry.rule.settings.mode != .offline || entry.rule.settings.bypass == true,
            let other = compiled.entries.first(where: { $0.rule.settings.cookies != nil && $0.covers(entry) }),
            let cookies = other.rule.settings.cookies, !cookies.forwardsAll
        else { return [] }
        let listed = Set(rules.flatMap { $0.settings.vary.map { Array($0.cookies.keys) } ?? [] })
        return names.filter { !cookies.kept.overlaps($0) && !listed.contains($0) }.map {
            "\(shown($0)) is not in 'keep' of 'cookies' of \(other.described(from: entry.rule.location?.file)), so the origin never gets it. Add it to that list."
        }
    }
}
