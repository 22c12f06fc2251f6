import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// The compiled rules that each request is matched against: patterns in an index, settings as bits,
/// and field values already looked up.
///
/// Field values may be secrets, so the description and the mirror leave them out.
package final class CompiledRules: Sendable {
    /// A compiled rule.
    package struct Entry: Sendable {
        var rule: Rule
        /// The rule's number in the file, from 1.
        var number: Int
        var patterns: [CompiledPattern]
        var settings: SettingSet
        /// The rule's name in decisions.
        var name: String
        /// Media types in lower case, for comparison.
        var contentTypes: [String]

        package init(rule: Rule, number: Int, patterns: [CompiledPattern], name: String) {
            self.rule = rule
            self.number = number
            self.patterns = patterns
            self.name = name
            settings = SettingSet(of: rule.settings)
            contentTypes = rule.match.contentTypes.map { $0.lowercased() }
        }

        /// Whether the rule is only for requests with certain cookies, fields or query parameters,
        /// so that it only restricts.
        var isRestricting: Bool { !rule.match.request.isEmpty }

        var restriction: RequestRestriction {
            RequestRestriction(
                rule.match.request,
                isBypassed: rule.settings.bypass == true,
                mode: rule.settings.mode
            )
        }

        func holds(forMethod method: HTTPRequest.Method) -> Bool {
            // GET and HEAD have the same key, so a rule for GET also applies to HEAD.
            rule.match.methods.isEmpty || rule.match.methods.contains(method)
                || (method == .head && rule.match.methods.contains(.get))
        }

        func holds(forMediaType mediaType: String?) -> Bool {
            if contentTypes.isEmpty { return true }
            guard let mediaType, !mediaType.isEmpty else { return false }
            return contentTypes.contains { MediaTypes.covers($0, mediaType) }
        }
    }

    private let resolution: Resolution
    var entries: [Entry] { resolution.entries }
    /// The field values, which may be secrets.
    package var values: FieldSources.Values { resolution.values }
    /// Whether any rule matches only some paths.
    let havePaths: Bool
    private let index: RuleIndex
    private let memory = TargetMemory()
    /// The request rules for each combination of decisive rules, by the rules' indices. Real files
    /// have few combinations. ``combinationLimit`` keeps the dictionary from growing without limit.
    private let combinations = Mutex<[[Int]: RequestRules]>([:])
    private static let combinationLimit = 4096

    init(_ entries: [Entry], values: FieldSources.Values) {
        resolution = Resolution(entries: entries, values: values)
        havePaths = entries.contains { $0.patterns.contains(where: \.hasPath) }
        index = RuleIndex(entries.map(\.patterns))
    }

    func rules(for request: HTTPRequest) -> RequestRules {
        if entries.isEmpty { return .none }
        guard let key = TargetMemory.Key(request, withQuery: false) else { return match(request, remembering: false) }
        switch memory.entry(for: key) {
        case .rules(let rules): return rules
        case .dependsOnQuery:
            if let key = TargetMemory.Key(request, withQuery: true), case .rules(let rules) = memory.entry(for: key) {
                return rules
            }
            return match(request, remembering: true)
        case nil: return match(request, remembering: true)
        }
    }

    private func match(_ request: HTTPRequest, remembering: Bool) -> RequestRules {
        guard let target = TargetURI(request: request) else { return .none }
        let matches = index.matches(TargetParts(target)) { entries[$0].holds(forMethod: request.method) }
        let rules = requestRules(
            decisiveRules(matches.rules.filter { !entries[$0].isRestricting }),
            restricting: matches.rules.filter { entries[$0].isRestricting }
        )
        guard remembering else { return rules }
        if let key = TargetMemory.Key(request, withQuery: false) {
            memory.remember(matches.dependOnQuery ? .dependsOnQuery : .rules(rules), for: key)
        }
        if matches.dependOnQuery, let key = TargetMemory.Key(request, withQuery: true) {
            memory.remember(.rules(rules), for: key)
        }
        return rules
    }

    /// Returns the rules that have a setting that no earlier rule decides for every response.
    private func decisiveRules(_ rules: [Int]) -> [Int] {
        var decided: SettingSet = []
        return rules.filter { rule in
            let entry = entries[rule]
            if entry.settings.isSubset(of: decided) { return false }
            if entry.contentTypes.isEmpty { decided.formUnion(entry.settings) }
            return true
        }
    }

    /// Returns the approximate number of requests that used each rule. Requests beyond the first
    /// ``combinationLimit`` combinations of rules are not counted. Otherwise, the number is never 0
    /// for a rule that was used.
    func uses() -> [Int64] {
        var uses = [Int64](repeating: 0, count: entries.count)
        for (rules, request) in combinations.withLock({ $0 }) {
            let restrictions = request.restrictionUses
            for rule in rules.dropLast(restrictions.count) { uses[rule] += max(1, request.uses) }
            for (rule, count) in zip(rules.suffix(restrictions.count), restrictions) { uses[rule] += count }
        }
        return uses
    }

    private func requestRules(_ rules: [Int], restricting: [Int]) -> RequestRules {
        let all = rules + restricting
        if all.isEmpty { return .none }
        let restrictions = restricting.map { entries[$0].restriction }
        return combinations.withLock { combinations in
            if let same = combinations[all] { return same }
            let result: RequestRules
            if rules.allSatisfy({ entries[$0].contentTypes.isEmpty }) {
                result = RequestRules(settings: resolution.settings(of: rules), restrictions: restrictions)
            } else {
                result = RequestRules(
                    settings: resolution.settings(of: rules.filter { entries[$0].contentTypes.isEmpty }),
                    restrictions: restrictions,
                    resolve: { [resolution] mediaType in
                        resolution.settings(
                            of: rules.filter { resolution.entries[$0].holds(forMediaType: mediaType) }
                        )
                    }
                )
            }
            if combinations.count < Self.combinationLimit { combinations[all] = result }
            return result
        }
    }

    func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] {
        guard let target = TargetURI(request: request) else { return [] }
        let mediaType = contentType?.mediaType
        let matches = index.matches(TargetParts(target)) {
            entries[$0].holds(forMethod: request.method) && entries[$0].holds(forMediaType: mediaType)
        }
        var decided: [String: CompiledRules.Entry] = [:]
        let rules = matches.rules.filter { !entries[$0].isRestricting }
        resolution.forEachDecision(of: rules) { entry, setting in decided[setting.name] = entry }
        var mode = resolution.settings(of: rules).mode
        for entry in matches.rules.map({ entries[$0] })
        where entry.isRestricting && entry.rule.match.request.hold(for: request) {
            if entry.rule.settings.bypass == true { decided["bypass"] = entry }
            guard let own = entry.rule.settings.mode else { continue }
            let strictest = OfflineMode.leastNetwork(own, mode)
            if strictest != mode { decided["mode"] = entry }
            mode = strictest
        }
        return Setting.all.compactMap { setting in
            decided[setting.name].map { entry in
                RuleDecision(
                    setting: setting.name,
                    value: entry.rule.location?.written[setting.name] ?? setting.written(entry.rule.settings) ?? "",
                    rule: entry.name,
                    line: entry.rule.location.map { $0.settings[setting.name] ?? $0.line }
                )
            }
        }
    }

    /// The number of remembered targets and bytes, for tests.
    var remembered: (targets: Int, bytes: Int) { memory.size }
}

/// Combines the settings of several rules.
private struct Resolution: Sendable {
    let entries: [CompiledRules.Entry]
    let values: FieldSources.Values

    func settings(of rules: [Int]) -> ExchangeSettings {
        var result = ExchangeSettings()
        forEachDecision(of: rules) { entry, setting in setting.apply(entry.rule.settings, values, &result) }
        return result
    }

    /// Calls `body` for each setting with the rule that decides it, which is the first rule with
    /// that setting.
    func forEachDecision(of rules: [Int], _ body: (CompiledRules.Entry, Setting) -> Void) {
        var decided: SettingSet = []
        for rule in rules {
            for index in entries[rule].settings.subtracting(decided).indices {
                body(entries[rule], Setting.all[index])
            }
            decided.formUnion(entries[rule].settings)
        }
    }
}

extension CompiledRules: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: [("rules", entries.map(\.rule))]) }
}
