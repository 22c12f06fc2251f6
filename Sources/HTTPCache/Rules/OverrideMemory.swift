import Synchronization

/// The rules that requests' own settings make of others: the same for the same.
///
/// Fetches are shared among requests under the same rules, told by identity; so these are kept, and
/// no more of them than ``limit``.
final class OverrideCache: Sendable {
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

    /// The base is held, so that no other ever has its identity.
    private struct Entry: Sendable {
        var base: RequestRules
        var rules: RequestRules
    }

    /// Of more, all are forgotten: requests under way keep theirs, and some fetches are not shared.
    static let limit = 1024

    private let entries = Mutex<[Key: Entry]>([:])

    /// What holds where a request's own settings are put over rules.
    func rules(_ base: RequestRules, _ override: any SettingsOverriding) -> RequestRules {
        let key = Key(base: ObjectIdentifier(base), override: override)
        if let known = entries.withLock({ $0[key] }) { return known.rules }
        // Made under no lock, because it runs code of others; of two that are made at once the
        // first stays.
        let made = Entry(base: base, rules: base.overridden(by: override))
        return entries.withLock { entries in
            if let known = entries[key] { return known.rules }
            if entries.count >= Self.limit { entries = [:] }
            entries[key] = made
            return made.rules
        }
    }
}
