import HTTPCache

/// Checks the settings of one rule that concern APIs: keyed content and event streams.
struct KeyedContentCheck {
    private let settings: RuleSettings

    init(_ settings: RuleSettings) { self.settings = settings }

    var faults: [CookieCheck.Fault] { keyFaults + streamFaults }

    private var streamFaults: [CookieCheck.Fault] {
        guard let rule = settings.store.events else { return [] }
        var faults: [CookieCheck.Fault] = []
        let text = rule.ending.utf8
        if text.isEmpty || text.count > 256 || text.contains(where: { $0 < 0x20 }) {
            faults.append(("store.events", "'ends-with' must have 1 to 256 bytes and no control characters."))
        }
        if rule.largest < 1 { faults.append(("store.events", "'largest' must be 1 B or more.")) }
        return faults
    }

    private var keyFaults: [CookieCheck.Fault] {
        var faults: [CookieCheck.Fault] = []
        if settings.withoutCredentials == false {
            faults.append(("credentials", "Write 'none', or remove the setting."))
        }
        guard let paths = settings.ignore.members else { return faults }
        let setting = "ignore.members"
        if paths.isEmpty { faults.append((setting, "The list is empty. Add members, or remove the setting.")) }
        if paths.count > MemberPaths.limit {
            faults.append((setting, "There are \(paths.count) members; the limit is \(MemberPaths.limit)."))
        }
        for path in paths where !MemberPaths.isPath(path) {
            faults.append(
                (
                    setting,
                    "\(shown(path)) is not a member. Write names separated by dots, and '[*]' for each item of a list, such as 'messages[*].id'."
                )
            )
        }
        if settings.store.content != .json {
            faults.append((setting, "It has no effect without 'store.content: json' in the same rule. Add it."))
        }
        return faults
    }
}
