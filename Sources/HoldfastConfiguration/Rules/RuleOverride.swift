import Foundation
public import HTTPCache

/// The settings of one rule as a request's own: they go before what the rules of the engine say for
/// it (`CacheRequest.overrides`).
///
/// ```swift
/// request.overrides = try RuleOverride(RuleSettings {
///     $0.freshness.lifetime = .minutes(5)
///     $0.softTimeout = .on(.seconds(2))
/// })
/// ```
///
/// Two with the same settings and values are equal, so it may be made for each request; to make it
/// once saves the check.
public struct RuleOverride: SettingsOverriding {
    /// What it says.
    public let settings: RuleSettings
    /// What explanations call it.
    public let name: String
    /// May hold secrets, and is shown nowhere.
    private let values: FieldSources.Values
    /// Of all of it, made once: it is asked for with each request.
    private let hash: Int

    /// - Parameters:
    ///   - settings: all that a rule can say.
    ///   - name: what explanations call it, where a rule would have its name.
    ///   - environment: where ``FieldValue/environment(_:)`` is looked up; `nil`: this process's.
    ///   - folder: what the paths of ``FieldValue/file(_:)`` are relative to; `nil`: the current
    ///     folder.
    /// - Throws: ``ConfigurationError``: settings that contradict each other or are out of bounds;
    ///   a field's value that is missing.
    public init(
        _ settings: RuleSettings,
        named name: String = "endpoint",
        environment: [String: String]? = nil,
        folder: String? = nil
    ) throws {
        var values: FieldSources.Values = [:]
        if !SettingSet(of: settings).isEmpty {
            let sources = FieldSources(
                environment: environment ?? (settings.readsEnvironment ? ProcessInfo.processInfo.environment : [:]),
                folder: folder
            )
            var check = RuleCheck(Rule(name, settings: settings), number: 1)
            check.run(sources: sources, values: &values)
            guard check.findings.isEmpty else { throw ConfigurationError(check.findings) }
        }
        self.settings = settings
        self.name = name
        self.values = values
        var hasher = Hasher()
        hasher.combine(settings)
        hasher.combine(values)
        hash = hasher.finalize()
    }

    /// See `SettingsOverriding`.
    public func apply(to settings: inout ExchangeSettings) {
        for index in SettingSet(of: self.settings).indices {
            Setting.all[index].apply(self.settings, values, &settings)
        }
    }

    /// See `SettingsOverriding`.
    public var decisions: [RuleDecision] {
        SettingSet(of: settings).indices.map { index in
            let setting = Setting.all[index]
            return RuleDecision(setting: setting.name, value: setting.written(settings) ?? "", rule: name)
        }
    }

    /// Whether both say the same: what they are called makes no difference.
    public static func == (left: Self, right: Self) -> Bool {
        left.hash == right.hash && left.settings == right.settings && left.values == right.values
    }

    /// By what it says.
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension RuleOverride: CustomReflectable {
    /// Its name and settings; the values of fields are not shown.
    public var customMirror: Mirror { Mirror(self, children: ["name": name, "settings": settings]) }
}

extension RuleSettings {
    /// Whether a field's value is in the environment.
    fileprivate var readsEnvironment: Bool {
        [toOrigin.set, toClient.set].contains { fields in
            fields?.values.contains { if case .environment = $0 { true } else { false } } ?? false
        }
    }
}
