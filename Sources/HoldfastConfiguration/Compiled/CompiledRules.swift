import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// Rules as they are asked on the way of a request: patterns in an index, settings as bits, values
/// of fields at hand.
///
/// The values of fields may be secrets, so this shows nothing of itself.
final class CompiledRules: Sendable {
    /// One rule.
    struct Entry: Sendable {
        var rule: Rule
        /// Its place among the rules of the file, from 1.
        var number: Int
        var patterns: [CompiledPattern]
        var settings: SettingSet
        /// What decisions call it.
        var name: String
        /// As they are compared: in lower case.
        var contentTypes: [String]

        init(rule: Rule, number: Int, patterns: [CompiledPattern], name: String) {
            self.rule = rule
            self.number = number
            self.patterns = patterns
            self.name = name
            settings = SettingSet(of: rule.settings)
            contentTypes = rule.match.contentTypes.map { $0.lowercased() }
        }

        func holds(forMethod method: HTTPRequest.Method) -> Bool {
            // GET and HEAD have one key, so what holds for one holds for the other.
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
    /// May be secrets.
    var values: FieldSources.Values { resolution.values }
    /// Whether any is about some paths only.
    let havePaths: Bool
    private let index: RuleIndex
    private let memory = TargetMemory()
    /// By the rules that decide something. Bounded: there are not many sets in any file, but
    /// nothing grows without a bound.
    private let known = Mutex<[[Int]: RequestRules]>([:])
    private static let knownLimit = 4096

    init(_ entries: [Entry], values: FieldSources.Values) {
        resolution = Resolution(entries: entries, values: values)
        havePaths = entries.contains { $0.patterns.contains(where: \.hasPath) }
        index = RuleIndex(entries.map(\.patterns))
    }

    func rules(for request: HTTPRequest) -> RequestRules {
        if entries.isEmpty { return .none }
        guard let key = TargetMemory.Key(request, withQuery: false) else { return match(request, remembering: false) }
        switch memory.answer(for: key) {
        case .rules(let rules): return rules
        case .dependsOnQuery:
            if let key = TargetMemory.Key(request, withQuery: true), case .rules(let rules) = memory.answer(for: key) {
                return rules
            }
            return match(request, remembering: true)
        case nil: return match(request, remembering: true)
        }
    }

    private func match(_ request: HTTPRequest, remembering: Bool) -> RequestRules {
        guard let target = TargetURI(request: request) else { return .none }
        let matches = index.matches(TargetParts(target)) { entries[$0].holds(forMethod: request.method) }
        let rules = requestRules(deciding(matches.rules))
        guard remembering else { return rules }
        if let key = TargetMemory.Key(request, withQuery: false) {
            memory.remember(matches.dependOnQuery ? .dependsOnQuery : .rules(rules), for: key)
        }
        if matches.dependOnQuery, let key = TargetMemory.Key(request, withQuery: true) {
            memory.remember(.rules(rules), for: key)
        }
        return rules
    }

    /// Those that decide a setting that no rule before them decides whatever the response is.
    private func deciding(_ rules: [Int]) -> [Int] {
        var decided: SettingSet = []
        return rules.filter { rule in
            let entry = entries[rule]
            if entry.settings.isSubset(of: decided) { return false }
            if entry.contentTypes.isEmpty { decided.formUnion(entry.settings) }
            return true
        }
    }

    private func requestRules(_ rules: [Int]) -> RequestRules {
        if rules.isEmpty { return .none }
        return known.withLock { known in
            if let same = known[rules] { return same }
            let result: RequestRules
            if rules.allSatisfy({ entries[$0].contentTypes.isEmpty }) {
                result = RequestRules(settings: resolution.settings(of: rules))
            } else {
                result = RequestRules(
                    settings: resolution.settings(of: rules.filter { entries[$0].contentTypes.isEmpty }),
                    resolve: { [resolution] mediaType in
                        resolution.settings(
                            of: rules.filter { resolution.entries[$0].holds(forMediaType: mediaType) }
                        )
                    }
                )
            }
            if known.count < Self.knownLimit { known[rules] = result }
            return result
        }
    }

    func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] {
        guard let target = TargetURI(request: request) else { return [] }
        let mediaType = contentType.map(MediaTypes.mediaType)
        let matches = index.matches(TargetParts(target)) {
            entries[$0].holds(forMethod: request.method) && entries[$0].holds(forMediaType: mediaType)
        }
        var result: [(place: Int, decision: RuleDecision)] = []
        resolution.forEachDecision(of: matches.rules) { entry, setting in
            let decision = RuleDecision(
                setting: setting.name,
                value: setting.written(entry.rule.settings) ?? "",
                rule: entry.name,
                line: entry.rule.location.map { $0.settings[setting.name] ?? $0.line }
            )
            result.append((Setting.places[setting.name] ?? 0, decision))
        }
        return result.sorted { $0.place < $1.place }.map(\.decision)
    }

    /// How many targets and bytes are remembered, for tests.
    var remembered: (targets: Int, bytes: Int) { memory.size }
}

/// What rules amount to together.
private struct Resolution: Sendable {
    let entries: [CompiledRules.Entry]
    let values: FieldSources.Values

    func settings(of rules: [Int]) -> ExchangeSettings {
        var result = ExchangeSettings()
        forEachDecision(of: rules) { entry, setting in setting.apply(entry.rule.settings, values, &result) }
        return result
    }

    /// The first rule that has a setting decides it.
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
    var customMirror: Mirror { Mirror(self, children: [("rules", entries.map(\.rule))]) }
}
