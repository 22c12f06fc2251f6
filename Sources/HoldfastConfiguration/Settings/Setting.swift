import HTTPCache
import HTTPTypes

/// One setting of a rule: its name, how it is read and written, and what it does.
struct Setting: Sendable {
    /// When it counts.
    enum Phase: Sendable {
        /// Before there is a response: it cannot depend on one.
        case request
        /// When a response is known.
        case response
    }

    /// As it is written in a file: `freshness.lifetime`.
    let name: String
    let phase: Phase
    /// Whether a response that is neither stored nor taken from the store can show it.
    let countsWithBypass: Bool
    let isSet: @Sendable (RuleSettings) -> Bool
    let read: @Sendable (FileValue, inout RuleSettings) throws(Refusal) -> Void
    /// As it is written in a file, without secrets; `nil` where it is not set.
    let written: @Sendable (RuleSettings) -> String?
    /// Puts the setting, where it is set, into what an engine obeys.
    let apply: @Sendable (RuleSettings, FieldSources.Values, inout ExchangeSettings) -> Void

    init<Value: Sendable>(
        _ name: String,
        _ phase: Phase,
        _ path: any WritableKeyPath<RuleSettings, Value?> & Sendable,
        countsWithBypass: Bool = false,
        read: @escaping @Sendable (FileValue) throws(Refusal) -> Value,
        written: @escaping @Sendable (Value) -> String,
        resolving: @escaping @Sendable (Value, FieldSources.Values, inout ExchangeSettings) -> Void
    ) {
        self.name = name
        self.phase = phase
        self.countsWithBypass = countsWithBypass
        isSet = { $0[keyPath: path] != nil }
        self.read = { (value, settings) throws(Refusal) in settings[keyPath: path] = try read(value) }
        self.written = { $0[keyPath: path].map(written) }
        apply = { rule, values, settings in
            if let value = rule[keyPath: path] { resolving(value, values, &settings) }
        }
    }

    /// A setting whose value is in the rule itself.
    init<Value: Sendable>(
        _ name: String,
        _ phase: Phase,
        _ path: any WritableKeyPath<RuleSettings, Value?> & Sendable,
        countsWithBypass: Bool = false,
        read: @escaping @Sendable (FileValue) throws(Refusal) -> Value,
        written: @escaping @Sendable (Value) -> String,
        apply: @escaping @Sendable (Value, inout ExchangeSettings) -> Void
    ) {
        self.init(
            name,
            phase,
            path,
            countsWithBypass: countsWithBypass,
            read: read,
            written: written,
            resolving: { value, _, settings in apply(value, &settings) }
        )
    }
}

/// Settings as bits, in the order of ``Setting/all``.
struct SettingSet: OptionSet, Sendable, Hashable {
    let rawValue: UInt64

    /// Those that a rule has.
    init(of settings: RuleSettings) {
        var bits: UInt64 = 0
        for (index, setting) in Setting.all.enumerated() where setting.isSet(settings) { bits |= 1 << UInt64(index) }
        rawValue = bits
    }

    init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Their places in ``Setting/all``.
    var indices: some Sequence<Int> {
        sequence(state: rawValue) { rest -> Int? in
            guard rest != 0 else { return nil }
            defer { rest &= rest - 1 }
            return rest.trailingZeroBitCount
        }
    }
}
