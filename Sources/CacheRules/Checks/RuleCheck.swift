import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// Checks one rule on its own, independently of the other rules.
package struct RuleCheck {
    let rule: Rule
    /// The rule's number, from 1.
    let number: Int
    /// The rule's name in decisions and messages.
    let name: String
    private(set) var findings: [ConfigurationError.Finding] = []
    /// See ``CheckedRules/unreadable``.
    private(set) var unreadable: [ConfigurationError.Finding] = []
    private(set) var patterns: [CompiledPattern] = []

    package init(_ rule: Rule, number: Int) {
        self.rule = rule
        self.number = number
        name = rule.location?.written["name"] ?? rule.name ?? "rule \(number)"
    }

    package func finding(_ setting: String?, _ message: String) -> ConfigurationError.Finding {
        ConfigurationError.Finding(
            file: rule.location?.file,
            line: rule.location.map { location in setting.flatMap { location.settings[$0] } ?? location.line },
            subject: CheckedRules.subject(rule, number: number),
            setting: setting,
            message: message
        )
    }

    private mutating func report(_ setting: String?, _ message: String) { findings.append(finding(setting, message)) }

    /// Returns another setting of this rule, with its line, for a message.
    private func other(_ setting: String) -> String {
        guard let line = rule.location?.settings[setting] else { return "'\(setting)'" }
        return "'\(setting)' (line \(line))"
    }

    mutating func run(sources: FieldSources, values: inout FieldSources.Values) {
        if let name = rule.name, name.isEmpty || name.utf8.count > 200 || name.utf8.contains(where: { $0 < 0x20 }) {
            report("name", "A name must have 1 to 200 bytes and no control characters.")
        }
        checkMatch()
        let settings = rule.settings
        if SettingSet(of: settings).isEmpty {
            report(nil, "It has no settings, so it has no effect. Add one, or remove the rule.")
        }
        checkValues(settings)
        checkFields("to-origin.set", settings.toOrigin.set, sources, &values)
        checkFields("to-client.set", settings.toClient.set, sources, &values)
        checkRemoved("to-origin.remove", settings.toOrigin.removed)
        checkRemoved("to-client.remove", settings.toClient.removed)
        checkContradictions(settings)
    }

    private mutating func checkMatch() {
        for url in rule.match.urls {
            do throws(Refusal) {
                patterns.append(try CompiledPattern(url))
            } catch {
                report("match.url", error.message)
            }
        }
        for type in rule.match.contentTypes where !MediaTypes.isRange(type) {
            report("match.content-type", "\(shown(type)) is not a media type such as 'image/png' or 'image/*'.")
        }
        checkRestriction()
        guard !rule.match.contentTypes.isEmpty else { return }
        for setting in Setting.all where setting.phase == .request && setting.isSet(rule.settings) {
            report(
                setting.name,
                "It takes effect before the response arrives, so it cannot depend on \(other("match.content-type")). Move it to a rule without that condition."
            )
        }
    }

    /// Checks a rule for requests with certain cookies, fields or query parameters.
    private mutating func checkRestriction() {
        let conditions = rule.match.request
        guard !conditions.isEmpty else { return }
        for fault in conditions.faults { report(fault.setting, fault.message) }
        let condition = Writers.conditions(conditions).first?.name ?? "match"
        if !rule.match.contentTypes.isEmpty {
            report("match.content-type", "It cannot be combined with \(other(condition)). Write two rules.")
        }
        for setting in Setting.all
        where !["bypass", "mode"].contains(setting.name) && setting.isSet(rule.settings) {
            report(
                setting.name,
                "It cannot depend on \(other(condition)): only 'bypass' and 'mode' can. Stored responses depend on the URL and the method alone. Move it to a rule without that condition."
            )
        }
        if rule.settings.bypass == false {
            report("bypass", "A rule with \(other(condition)) can only restrict. Write 'true', or remove the setting.")
        }
    }

    private mutating func checkFields(
        _ setting: String,
        _ fields: [HTTPField.Name: FieldValue]?,
        _ sources: FieldSources,
        _ values: inout FieldSources.Values
    ) {
        guard let fields else { return }
        if fields.isEmpty { report(setting, "It has no fields. Add one, or remove the setting.") }
        for (name, source) in fields.sorted(by: { $0.key.canonicalName < $1.key.canonicalName }) {
            guard SettableFields.maySet(name) else {
                report(setting, "'\(name.rawName)' cannot be set: it belongs to the cache or the connection.")
                continue
            }
            if case .literal(let text) = source, SettableFields.isSecretByName(name) {
                let fault =
                    "'\(name.rawName)' holds a secret, which must not be in this file. Write '{env: NAME}' or '{file: PATH}'."
                let isMixed = text.contains("{env:") || text.contains("{file:")
                report(
                    setting,
                    isMixed ? "\(fault) The variable or file contains the whole value, such as 'Bearer TOKEN'." : fault
                )
                continue
            }
            guard values[source] == nil else { continue }
            do throws(Refusal) {
                values[source] = try sources.value(of: source)
            } catch {
                let message = "'\(name.rawName)': \(error.message)"
                guard let previous = sources.previous[source] else {
                    report(setting, message)
                    continue
                }
                values[source] = previous
                unreadable.append(finding(setting, message))
            }
        }
    }

    private mutating func checkRemoved(_ setting: String, _ names: [HTTPField.Name]?) {
        guard let names else { return }
        if names.isEmpty { report(setting, "The list is empty. Add fields, or remove the setting.") }
        for name in names where !SettableFields.mayRemove(name) {
            report(setting, "'\(name.rawName)' cannot be removed: it frames the message or identifies its target.")
        }
    }
}

extension RuleCheck {
    /// Checks for values that a file could not contain, or that make no sense.
    private mutating func checkValues(_ settings: RuleSettings) {
        let durations = [
            ("freshness.lifetime", settings.freshness.lifetime), ("freshness.default", settings.freshness.default),
            ("freshness.errors", settings.freshness.errors),
            ("stale.while-revalidate", settings.stale.whileRevalidate),
            ("stale.unreachable", settings.stale.unreachable?.duration),
            ("stale.on-error", settings.stale.onError?.duration),
            ("stale.offline", settings.stale.offline?.duration),
        ]
        for case (let name, let duration?) in durations
        where duration < .zero || duration.components.attoseconds != 0 {
            report(name, "It must be a whole number of seconds, 0 or more.")
        }
        for case (let name, .on(let timeout)?) in [
            ("timeouts.soft", settings.softTimeout), ("timeouts.hard", settings.hardTimeout),
        ] where timeout <= .zero { report(name, "A timeout must be more than 0 s. Write 'off' for no timeout.") }
        if case .on(let share) = settings.eagerRefresh, !(0...1).contains(share) {
            report("eager-refresh", "\(share) is not a number from 0 to 1.")
        }
        if case .on(let guarding) = settings.goodDataGuard, !(0...1).contains(guarding.minimumJSONShare) {
            report("guard", "\(guarding.minimumJSONShare) is not a number from 0 to 1.")
        }
        checkLists(settings)
    }

    private mutating func checkLists(_ settings: RuleSettings) {
        if settings.store.methods?.isEmpty == true {
            report("store.methods", "The list is empty. Add methods, or write 'bypass: true'.")
        }
        for method in settings.store.methods ?? [] where !KnownMethods.stored.contains(method.rawValue) {
            report("store.methods", "\(shown(method.rawValue)) is never stored. Use \(choice(KnownMethods.stored)).")
        }
        if settings.store.statuses?.isEmpty == true {
            report("store.statuses", "The list is empty. Add statuses, or write 'bypass: true'.")
        }
        for status in (settings.store.statuses ?? []).sorted() {
            if !(200...599).contains(status) {
                report("store.statuses", "\(status) is not a status from 200 to 599.")
            } else if StatusRules.isAboutTheRequest(status) {
                report("store.statuses", "\(status) is about the request and is never stored. Remove it.")
            }
        }
        for (name, size) in [
            ("store.largest", settings.store.largest), ("store.smallest", settings.store.smallest),
        ] {
            if let size, size < 0 { report(name, "A size must be 0 B or more.") }
        }
        if let uses = settings.store.afterUses, !RuleSettings.Storing.usesRange.contains(uses) {
            report("store.after-uses", "\(uses) is not a number from 1 to 100.")
        }
        if settings.store.content == .asRequested {
            report("store.content", "Write 'any', 'graphql' or 'json', or remove the setting.")
        }
        if settings.tagsFrom?.isEmpty == true {
            report("tags-from", "The list is empty. Add fields, or remove the setting.")
        }
        if let tags = settings.tags {
            if tags.isEmpty { report("tags", "The list is empty. Add tags, or remove the setting.") }
            if tags.count > 32 { report("tags", "There are \(tags.count) tags; the limit is 32.") }
            for tag in tags where tag.isEmpty || tag.utf8.count > 256 || tag.utf8.contains(where: { $0 < 0x20 }) {
                report("tags", "\(shown(tag)) is not a tag. A tag has 1 to 256 bytes and no control characters.")
            }
        }
        if case .cookie(let name)? = settings.store.principal, !MediaTypes.isRange("\(name)/a") || name.contains("*") {
            report("store.per", "\(shown(name)) is not a cookie name.")
        }
        for (name, list) in [
            ("ignore.parameters", settings.ignore.parameters),
            ("normalize.drop-parameters", settings.normalize.droppedParameters),
        ] {
            guard let list else { continue }
            if list.isEmpty { report(name, "The list is empty. Add parameters, or remove the setting.") }
            for parameter in list where parameter.isEmpty || parameter.dropLast().contains("*") {
                report(name, "\(shown(parameter)) is not a parameter name. A star is allowed only at the end.")
            }
        }
        if settings.ignore.fields?.isEmpty == true {
            report("ignore.fields", "The list is empty. Add fields, or remove the setting.")
        }
    }
}

extension RuleCheck {
    /// Checks for settings that cancel each other.
    private mutating func checkContradictions(_ settings: RuleSettings) {
        if settings.bypass == true {
            for setting in Setting.all where !setting.worksWithBypass && setting.isSet(settings) {
                report(
                    setting.name,
                    "It has no effect with \(other("bypass")), because nothing is stored. Remove one of them."
                )
            }
        }
        if let smallest = settings.store.smallest, let largest = settings.store.largest, smallest > largest {
            report("store.smallest", "It is more than \(other("store.largest")), so nothing is stored. Lower it.")
        }
        if case .on(let soft) = settings.softTimeout, case .on(let hard) = settings.hardTimeout, soft >= hard {
            report("timeouts.soft", "It is not less than \(other("timeouts.hard")), so it has no effect. Lower it.")
        }
        if let methods = settings.store.methods, settings.store.content != nil, !methods.contains(.post) {
            report("store.content", "It applies to POST, which is not in \(other("store.methods")).")
        }
        if settings.store.content != nil, !rule.match.methods.isEmpty, !rule.match.methods.contains(.post) {
            report("store.content", "It applies to POST, which is not in \(other("match.method")).")
        }
        checkPrincipal(settings)
        for fault in CookieCheck(settings).faults({ other($0) }) { report(fault.setting, fault.message) }
        for fault in KeyedContentCheck(settings).faults { report(fault.setting, fault.message) }
        for fault in OriginFieldCheck(settings).faults({ other($0) }) { report(fault.setting, fault.message) }
        checkMode(settings)
        checkParameters(settings)
    }

    private mutating func checkPrincipal(_ settings: RuleSettings) {
        let name: HTTPField.Name
        switch settings.store.principal {
        case .field(let field): name = field
        case .cookie: name = .cookie
        case nil: return
        }
        if settings.ignore.fields?.contains(name) == true {
            report(
                "store.per",
                "It uses '\(name.rawName)', which \(other("ignore.fields")) ignores. Remove it from that list."
            )
        }
    }

    private mutating func checkMode(_ settings: RuleSettings) {
        guard settings.mode == .offline else { return }
        let asking = [
            "stale.while-revalidate", "stale.unreachable", "stale.on-error", "eager-refresh", "timeouts.soft",
            "timeouts.hard", "breaker", "to-origin.set",
        ]
        for name in asking {
            guard let place = Setting.places[name], Setting.all[place].isSet(settings) else { continue }
            report(
                name,
                "It has no effect with 'offline' in \(other("mode")), because no request is sent to an origin. Remove it, or change the mode."
            )
        }
    }

    private mutating func checkParameters(_ settings: RuleSettings) {
        let dropped = (settings.normalize.droppedParameters ?? []).flatMap {
            $0 == RuleSettings.trackingWord ? RuleSettings.trackingParameters : [$0]
        }
        for ignored in settings.ignore.parameters ?? [] {
            guard let covering = dropped.first(where: { Self.parameter($0, covers: ignored) }) else { continue }
            report(
                "ignore.parameters",
                "\(shown(ignored)) has no effect, because \(shown(covering)) in \(other("normalize.drop-parameters")) removes the parameter first."
            )
        }
    }

    private static func parameter(_ name: String, covers other: String) -> Bool {
        name == other || name.hasSuffix("*") && other.hasPrefix(name.dropLast())
    }
}

extension RuleSettings.Budget {
    fileprivate var duration: Duration? { if case .limited(let duration) = self { duration } else { nil } }
}
