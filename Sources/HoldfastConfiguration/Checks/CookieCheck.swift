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
        kept(other) + withoutCookies(other)
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
            "\(shown($0)) is not a cookie name. A name has letters, digits, '-' and '_'. A star is allowed only at the end."
        }
    }
}
