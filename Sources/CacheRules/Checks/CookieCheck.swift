import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// Checks the settings of one rule that concern cookies.
struct CookieCheck {
    /// A setting, and what is wrong with it.
    typealias Fault = (setting: String, message: String)

    private let settings: RuleSettings

    init(_ settings: RuleSettings) { self.settings = settings }

    /// - Parameter other: returns another setting of the rule, for a message.
    func faults(_ other: (String) -> String) -> [Fault] {
        kept(other) + withoutCookies(other) + listed(other)
    }

    private func kept(_ other: (String) -> String) -> [Fault] {
        guard let rule = settings.cookies else { return [] }
        var faults: [Fault] = names(rule.kept.patterns).map { ("cookies", $0) }
        if settings.ignore.fields?.contains(.cookie) == true {
            faults.append(
                (
                    "cookies",
                    "\(other("ignore.fields")) ignores 'Cookie'. Remove 'Cookie' there: a kept cookie always counts."
                )
            )
        }
        if settings.toOrigin.removed?.contains(.cookie) == true || settings.toOrigin.set?[.cookie] != nil {
            let setting = settings.toOrigin.set?[.cookie] == nil ? "to-origin.remove" : "to-origin.set"
            faults.append(
                ("cookies", "It has no effect, because \(other(setting)) removes 'Cookie' first. Remove one of them.")
            )
        }
        if case .cookie(let name)? = settings.store.principal, !rule.kept.contains(name) {
            faults.append(
                (
                    "store.per",
                    "\(shown(name)) is not in 'keep' of \(other("cookies")), so it is not sent. Add it to that list."
                )
            )
        }
        return faults
    }

    private func withoutCookies(_ other: (String) -> String) -> [Fault] {
        guard let patterns = settings.store.withoutCookies else { return [] }
        let setting = "store.without-cookies"
        if patterns.isEmpty { return [(setting, "The list is empty. Add names of cookies, or remove the setting.")] }
        var faults: [Fault] = names(patterns).map { (setting, $0) }
        for pattern in patterns where settings.cookies?.kept.overlaps(pattern) == true {
            faults.append(
                (
                    setting,
                    "\(shown(pattern)) is kept by \(other("cookies")). A cookie that affects responses cannot be left out of them. Remove it from one of the lists."
                )
            )
        }
        return faults
    }

    private func names(_ patterns: [String]) -> [String] {
        patterns.filter { !CookieNames.isPattern($0) }.map {
            let fault =
                "\(shown($0)) is not a cookie name. A name has letters, digits, '-' and '_'. A star is allowed only at the end."
            guard $0.contains(",") else { return fault }
            return "\(fault) For several cookies, write \(shown(Writers.list(Writers.separated([$0]))))."
        }
    }

    // MARK: vary

    /// The maximum number of listed cookies and fields, and of values for each of them.
    private static let nameLimit = 16, valueLimit = 64

    private func listed(_ other: (String) -> String) -> [Fault] {
        guard let vary = settings.vary else { return [] }
        var messages: [String] = []
        if vary.isEmpty { messages.append("It lists no values. Add some, or remove the setting.") }
        let count = vary.cookies.count + vary.fields.count
        if count > Self.nameLimit {
            messages.append("There are \(count) cookies and fields; the limit is \(Self.nameLimit).")
        }
        for (name, values) in vary.cookies.sorted(by: { $0.key < $1.key }) {
            messages += listed(cookie: name, other).map { [$0] } ?? []
            messages += unusable(values, of: name)
        }
        for (name, values) in vary.fields.sorted(by: { $0.key.canonicalName < $1.key.canonicalName }) {
            messages += listed(field: name, other).map { [$0] } ?? []
            messages += unusable(values, of: name.rawName)
        }
        return messages.map { ("vary", $0) }
    }

    private func listed(cookie name: String, _ other: (String) -> String) -> String? {
        if name.contains("*") || !CookieNames.isPattern(name) {
            return "\(shown(name)) is not a cookie name. A name has letters, digits, '-' and '_'."
        }
        if settings.cookies?.kept.contains(name) == true {
            return
                "\(shown(name)) is also in 'keep' of \(other("cookies")), which makes it a credential. Remove it from one of the lists."
        }
        return nil
    }

    private func listed(field name: HTTPField.Name, _ other: (String) -> String) -> String? {
        let shown = "'\(name.rawName)'"
        if CredentialPartition.isCredential(HTTPField(name: name, value: "")) {
            return "\(shown) is a credential, so its values cannot select shared responses. Use 'store.per'."
        }
        if !SettableFields.maySet(name) {
            return "\(shown) cannot be listed: it belongs to the cache or the connection."
        }
        if !name.canonicalName.utf8.allSatisfy({ $0.isAlphanumeric || $0 == UInt8(ascii: "-") }) {
            return
                "\(shown) cannot be listed: servers read names with other characters than letters, digits and '-' in different ways."
        }
        let others = [
            ("ignore.fields", settings.ignore.fields?.contains(name) == true),
            ("to-origin.remove", settings.toOrigin.removed?.contains(name) == true),
            ("to-origin.set", settings.toOrigin.set?[name] != nil),
        ]
        return others.first { $0.1 }.map {
            "\(shown) is also in \(other($0.0)), so its values select nothing. Remove it from one of them."
        }
    }

    private func unusable(_ values: [String], of name: String) -> [String] {
        if values.isEmpty { return ["\(shown(name)) has no values. Add some, or remove it."] }
        if values.count > Self.valueLimit {
            return ["\(shown(name)) has \(values.count) values; the limit is \(Self.valueLimit)."]
        }
        return values.filter { $0.isEmpty || $0.utf8.count > 64 || !RequestCookies.isValue($0) }.map {
            "\(shown($0)) of \(shown(name)) is not a value. A value has 1 to 64 visible ASCII characters, but no quotes, commas, semicolons and backslashes."
        }
    }
}
