import HTTPCache
import HTTPTypes

/// One setting of a rule: its name, how it is read and written, and what it does.
///
/// A new setting touches these places, in this order:
///
/// 1. `ExchangeSettings` (module `HTTPCache`): a property whose default changes nothing. If RFC
///    9111 defines what it changes (freshness, staleness, storing), the property belongs to
///    `PolicyOverrides` (module `HTTPCacheSemantics`).
/// 2. The code that obeys the property: `CachePolicy` reads `PolicyOverrides`, `PreparedRequest`
///    what changes the key or the request, the exchange and the in-flight fetch everything else.
/// 3. `HTTPCacheExplaining`: `holdfast explain` names the setting if it changes the key, a
///    lifetime or what is served. `RuledResponse` applies it to responses stored before, for
///    `holdfast rules`.
/// 4. ``RuleSettings``: an optional property. Its comment begins with the setting's name in a file.
/// 5. `Setting+All.swift`: the entry in ``all``, with name, phase, reader and writer. Decisions,
///    ``RuleOverride`` and ``EffectiveConfiguration`` follow from it. ``SettingSet`` has room for
///    64.
/// 6. ``Readers`` and ``Writers``: only for a new kind of value. `Setting+Kinds.swift` has the
///    others.
/// 7. ``RuleCheck``: the bounds for values made in Swift, and the settings that it contradicts. A
///    setting about requests to the origin joins the list in `checkMode`.
/// 8. `HoldfastConfiguration.docc/Settings.md`: a line with its name, effect and default.
/// 9. Tests: `LoadingTests.whole`, which must hold every setting, and `everySettingIsRead`; a line
///    for each message in `FindingTests`; its effect in `Tests/HTTPCacheTests/RulesTests.swift`.
///
/// A setting of the top level instead has a property in ``Configuration``, an entry in
/// `TopSetting.swift`, a row in `Settings.md`, and is copied to where it takes effect by
/// `GatewayConfiguration+File.swift` (gateway) or the code that opens the store and the engine.
struct Setting: Sendable {
    /// When a setting takes effect.
    enum Phase: Sendable {
        /// Before there is a response, so it cannot depend on one.
        case request
        /// Once there is a response.
        case response
    }

    /// The name in a file: `freshness.lifetime`.
    let name: String
    let phase: Phase
    /// Whether it has an effect on requests that bypass the store.
    let worksWithBypass: Bool
    let isSet: @Sendable (RuleSettings) -> Bool
    let read: @Sendable (FileValue, inout RuleSettings) throws(Refusal) -> Void
    /// The value as a file would hold it, without secrets; `nil` if it is not set.
    let written: @Sendable (RuleSettings) -> String?
    /// Copies the setting, if it is set, into the settings of an exchange.
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

    /// A setting that needs no looked-up value of a field.
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

/// A set of settings as bits, in the order of ``Setting/all``. There can be 64 settings.
struct SettingSet: OptionSet, Sendable, Hashable {
    let rawValue: UInt64

    /// The settings that a rule has.
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
