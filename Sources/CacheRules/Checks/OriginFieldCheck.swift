import HTTPCache
import HTTPTypes

/// Checks the settings of one rule that change an origin's responses before they are judged.
struct OriginFieldCheck {
    private let settings: RuleSettings
    /// The maximum number of names in `from-origin.vary`.
    private static let nameLimit = 16

    init(_ settings: RuleSettings) { self.settings = settings }

    /// - Parameter other: returns another setting of the rule, for a message.
    func faults(_ other: (String) -> String) -> [CookieCheck.Fault] {
        var faults: [CookieCheck.Fault] = []
        for message in removed(other) { faults.append(("from-origin.remove", message)) }
        for message in vary(other) { faults.append(("from-origin.vary", message)) }
        return faults
    }

    private func removed(_ other: (String) -> String) -> [String] {
        guard let names = settings.fromOrigin.removed else { return [] }
        if names.isEmpty { return ["The list is empty. Add fields, or remove the setting."] }
        var messages = names.filter { !SettableFields.mayRemoveFromOrigin($0) }.map {
            "'\($0.rawName)' cannot be removed: it says how the response is framed, read, stored or shared. Use 'freshness', 'stale' or 'ignore.directives'."
        }
        if names.contains(.setCookie), settings.store.withoutCookies != nil {
            messages.append(
                "It removes every cookie, so \(other("store.without-cookies")) has no effect. Remove one of them."
            )
        }
        for field in settings.tagsFrom ?? [] where names.contains(field.name) {
            messages.append(
                "'\(field.rawValue)' is also in \(other("tags-from")), so there are no tags. Remove it here."
            )
        }
        return messages
    }

    private func vary(_ other: (String) -> String) -> [String] {
        guard let names = settings.fromOrigin.vary else { return [] }
        if names.isEmpty { return ["The list is empty. Add fields, or remove the setting."] }
        var messages = names.compactMap { unusable($0, other) }
        if names.count > Self.nameLimit {
            messages.append("There are \(names.count) fields; the limit is \(Self.nameLimit).")
        }
        return messages
    }

    private func unusable(_ name: HTTPField.Name, _ other: (String) -> String) -> String? {
        let shown = "'\(name.rawName)'"
        if CredentialPartition.isCredential(HTTPField(name: name, value: "")) {
            return "\(shown) is a credential, and requests with credentials are not affected. Use 'store.per'."
        }
        if !SettableFields.maySet(name) {
            return "\(shown) cannot be listed: it belongs to the cache or the connection."
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
}
