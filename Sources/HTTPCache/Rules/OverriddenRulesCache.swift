import Synchronization

/// Remembers the rules that result from a request's own settings over the engine's rules: equal
/// settings give the same instance.
///
/// Requests share a fetch if the same instance of rules applies to them. So the instances are kept,
/// at most ``limit`` of them.
final class OverriddenRulesCache: Sendable {
    private struct Key: Hashable, Sendable {
        let base: ObjectIdentifier
        let override: any SettingsOverriding

        static func == (left: Key, right: Key) -> Bool {
            left.base == right.base && isEqual(left.override, right.override)
        }

        private static func isEqual<Left: SettingsOverriding>(_ left: Left, _ right: any SettingsOverriding) -> Bool {
            right as? Left == left
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(base)
            override.hash(into: &hasher)
        }
    }

    /// The entry holds the base, so that no other object gets its identity.
    private struct Entry: Sendable {
        var base: RequestRules
        var rules: RequestRules
    }

    /// The most entries. Beyond that all are forgotten: requests under way keep their rules, and
    /// some fetches are not shared.
    static let limit = 1024

    private let entries = Mutex<[Key: Entry]>([:])

    /// The rules that apply if a request's own settings are put over others.
    func rules(_ base: RequestRules, _ override: any SettingsOverriding) -> RequestRules {
        let key = Key(base: ObjectIdentifier(base), override: override)
        if let known = entries.withLock({ $0[key] }) { return known.rules }
        // Made outside the lock, because it runs foreign code. If two are made at once, the first
        // stays.
        let made = Entry(base: base, rules: base.overridden(by: override))
        return entries.withLock { entries in
            if let known = entries[key] { return known.rules }
            if entries.count >= Self.limit { entries = [:] }
            entries[key] = made
            return made.rules
        }
    }
}
