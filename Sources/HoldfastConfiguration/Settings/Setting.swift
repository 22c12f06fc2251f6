import HTTPCache
import HTTPTypes

/// One setting of a rule: its name, how it is read and written, and what it does.
///
/// To add a setting, change these places in this order:
///
/// 1. `ExchangeSettings` (module `HTTPCache`): add a property whose default changes nothing. If RFC
///    9111 defines the behavior that it changes (freshness, staleness, storing), add it to
///    `PolicyOverrides` (module `HTTPCacheSemantics`) instead.
/// 2. The code that uses the property: `CachePolicy` reads `PolicyOverrides`, `PreparedRequest`
///    handles changes to the key or the request, and the exchange and the in-flight fetch handle
///    everything else.
/// 3. `HTTPCacheExplaining`: `holdfast explain` mentions the setting if it changes the key, a
///    lifetime or the served response. `RuledResponse` applies it to responses that were stored
///    before, for `holdfast rules`.
/// 4. ``RuleSettings``: add an optional property. Its comment begins with the setting's name in a
///    file.
/// 5. `Setting+All.swift`: add an entry to ``all`` with name, phase, reader and writer. Decisions,
///    ``RuleOverride`` and ``EffectiveConfiguration`` follow from it. ``SettingSet`` has room for
///    64.
/// 6. ``Readers`` and ``Writers``: only for a new kind of value. `Setting+Kinds.swift` has the
///    existing kinds.
/// 7. ``RuleCheck``: check the range of values created in Swift, and the settings that contradict
///    the new one. A setting for requests to the origin joins the list in `checkMode`.
/// 8. `HoldfastConfiguration.docc/Settings.md`: add a line with name, effect and default.
/// 9. Tests: `LoadingTests.whole`, which must contain every setting, and `everySettingIsRead`; a
///    line for each message in `FindingTests`; the effect in
///    `Tests/HTTPCacheTests/RulesTests.swift`.
///
/// A top-level setting instead has a property in ``Configuration``, an entry in `TopSetting.swift`
/// and a row in `Settings.md`. `GatewayConfiguration+File.swift` (gateway), or the code that opens
/// the store and the engine, copies it to where it takes effect.
struct Setting: Sendable {
    /// The time at which a setting takes effect.
    enum Phase: Sendable {
        /// Before the response arrives, so it cannot depend on the response.
        case request
        /// After the response arrives.
        case response
    }

    /// The setting's name in a file: `freshness.lifetime`.
    let name: String
    let phase: Phase
    /// Whether the setting has an effect on requests that bypass the store.
    let worksWithBypass: Bool
    let isSet: @Sendable (RuleSettings) -> Bool
    let read: @Sendable (FileValue, inout RuleSettings) throws(Refusal) -> Void
    /// Returns the value as written in a file, without secrets, or `nil` if it is not set.
    let written: @Sendable (RuleSettings) -> String?
    /// Copies the setting, if set, to the settings of an exchange.
    let apply: @Sendable (RuleSettings, FieldSources.Values, inout ExchangeSettings) -> Void

    init<Value: Sendable>(
        _ name: String,
        _ phase: Phase,
        _ path: any WritableKeyPath<RuleSettings, Value?> & Sendable,
        worksWithBypass: Bool = false,
        read: @escaping @Sendable (FileValue) throws(Refusal) -> Value,
        written: @escaping @Sendable (Value) -> String,
        resolving: @escaping @Sendable (Value, FieldSources.Values, inout ExchangeSettings) -> Void
    ) {
        self.name = name
        self.phase = phase
        self.worksWithBypass = worksWithBypass
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
        read: @escaping @Sendable (FileValue) throws(Refusal) -> Value,
        written: @escaping @Sendable (Value) -> String,
        apply: @escaping @Sendable (Value, inout ExchangeSettings) -> Void
    ) {
        self.init(
            name,
            phase,
            path,
            worksWithBypass: worksWithBypass,
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
