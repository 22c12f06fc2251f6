import Synchronization

/// Caches the rules that result from applying a request's own settings to the engine's rules. Equal
/// settings produce the same instance.
///
/// Requests share a fetch only if the same instance of the rules applies to them. For this reason,
/// up to ``limit`` instances are kept.
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

    /// The entry retains the base, so that no other object can get the same identity.
    private struct Entry: Sendable {
        var base: RequestRules
        var rules: RequestRules
    }

    /// The maximum number of entries. When it is exceeded, all entries are dropped: requests in
    /// flight keep their rules, but some fetches are not shared.
    static let limit = 1024

    private let entries = Mutex<[Key: Entry]>([:])

    /// Returns the rules that apply when a request's own settings override other rules.
    func rules(_ base: RequestRules, _ override: any SettingsOverriding) -> RequestRules {
        let key = Key(base: ObjectIdentifier(base), override: override)
        if let known = entries.withLock({ $0[key] }) { return known.rules }
        // Create the rules outside the lock, because this runs external code. If two threads create
        // rules concurrently, the first rules are kept.
        let made = Entry(base: base, rules: base.overridden(by: override))
        return entries.withLock { entries in
            if let known = entries[key] { return known.rules }
            if entries.count >= Self.limit { entries = [:] }
            entries[key] = made
            return made.rules
        }
    }
}
