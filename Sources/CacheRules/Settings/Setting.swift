import HTTPCache
import HTTPTypes

/// One setting of a rule: its name, how it is read and written, and what it does.
///
/// To add a setting, follow docs/recipes.md, "A rule setting".
package struct Setting: Sendable {
    /// The phase of an exchange in which a setting takes effect.
    enum Phase: Sendable {
        /// Before the response arrives, so it cannot depend on the response.
        case request
        /// After the response arrives.
        case response
    }

    /// The setting's name in a file: `freshness.lifetime`.
    package let name: String
    let phase: Phase
    /// Whether the setting has an effect on requests that bypass the store.
    let worksWithBypass: Bool
    /// The values that a file may contain.
    package let shape: Shape
    package let isSet: @Sendable (RuleSettings) -> Bool
    package let read: @Sendable (FileValue, inout RuleSettings) throws(Refusal) -> Void
    /// Returns the value as written in a file, but without secrets, or `nil` if the setting is not
    /// set.
    package let written: @Sendable (RuleSettings) -> String?
    /// Copies the setting, if it is set, to the settings of an exchange.
    let apply: @Sendable (RuleSettings, FieldSources.Values, inout ExchangeSettings) -> Void

    init<Value: Sendable>(
        _ name: String,
        _ phase: Phase,
        _ path: any WritableKeyPath<RuleSettings, Value?> & Sendable,
        worksWithBypass: Bool = false,
        shape: Shape,
        read: @escaping @Sendable (FileValue) throws(Refusal) -> Value,
        written: @escaping @Sendable (Value) -> String,
        resolving: @escaping @Sendable (Value, FieldSources.Values, inout ExchangeSettings) -> Void
    ) {
        self.name = name
        self.phase = phase
        self.worksWithBypass = worksWithBypass
        self.shape = shape
        isSet = { $0[keyPath: path] != nil }
        self.read = { (value, settings) throws(Refusal) in settings[keyPath: path] = try read(value) }
        self.written = { $0[keyPath: path].map(written) }
        apply = { rule, values, settings in
            if let value = rule[keyPath: path] { resolving(value, values, &settings) }
        }
    }

    /// Creates a setting that needs no looked-up field value.
    init<Value: Sendable>(
        _ name: String,
        _ phase: Phase,
        _ path: any WritableKeyPath<RuleSettings, Value?> & Sendable,
        worksWithBypass: Bool = false,
        shape: Shape,
        read: @escaping @Sendable (FileValue) throws(Refusal) -> Value,
        written: @escaping @Sendable (Value) -> String,
        apply: @escaping @Sendable (Value, inout ExchangeSettings) -> Void
    ) {
        self.init(
            name,
            phase,
            path,
            worksWithBypass: worksWithBypass,
            shape: shape,
            read: read,
            written: written,
            resolving: { value, _, settings in apply(value, &settings) }
        )
    }
}

/// A set of settings as bits, in the order of ``Setting/all``. There can be up to 64 settings.
struct SettingSet: OptionSet, Sendable, Hashable {
    let rawValue: UInt64

    /// Creates the set of settings that a rule has.
    init(of settings: RuleSettings) {
        var bits: UInt64 = 0
        for (index, setting) in Setting.all.enumerated() where setting.isSet(settings) { bits |= 1 << UInt64(index) }
        rawValue = bits
    }

    init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The indices of the settings in ``Setting/all``.
    var indices: some Sequence<Int> {
        sequence(state: rawValue) { rest -> Int? in
            guard rest != 0 else { return nil }
            defer { rest &= rest - 1 }
            return rest.trailingZeroBitCount
        }
    }
}
