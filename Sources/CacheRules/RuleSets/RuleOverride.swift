import Foundation
package import HTTPCache

/// Rule settings for a single request (`CacheRequest.overrides`). They take precedence over the
/// engine's rules.
///
/// ```swift
/// request.overrides = try RuleOverride(RuleSettings {
///     $0.freshness.lifetime = .minutes(5)
///     $0.softTimeout = .on(.seconds(2))
/// })
/// ```
///
/// Two overrides with the same settings and field values are equal, so you may create an override
/// for each request. The settings of an override that you reuse are checked only once.
package struct RuleOverride: SettingsOverriding {
    /// The settings.
    package let settings: RuleSettings
    /// The name in explanations.
    package let name: String
    /// The field values. They may be secrets and are never shown.
    private let values: FieldSources.Values
    /// The hash of all settings and values. It is computed once, because every request uses it.
    private let hash: Int

    /// Checks settings and creates an override.
    ///
    /// - Parameters:
    ///   - settings: any settings that a rule can have.
    ///   - name: the name in explanations, instead of a rule's name.
    ///   - environment: the variables in which ``FieldValue/environment(_:)`` is looked up; `nil`
    ///     uses those of this process.
    ///   - folder: the folder to which the paths of ``FieldValue/file(_:)`` are relative; `nil`
    ///     uses the current folder.
    /// - Throws: ``ConfigurationError`` if settings contradict each other or are out of range, or
    ///   if the value of a field is missing.
    package init(
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
    package func apply(to settings: inout ExchangeSettings) {
        for index in SettingSet(of: self.settings).indices {
            Setting.all[index].apply(self.settings, values, &settings)
        }
    }

    /// See `SettingsOverriding`.
    package var decisions: [RuleDecision] {
        SettingSet(of: settings).indices.map { index in
            let setting = Setting.all[index]
            return RuleDecision(setting: setting.name, value: setting.written(settings) ?? "", rule: name)
        }
    }

    /// Returns whether two overrides have the same settings and field values. Their names may
    /// differ.
    package static func == (left: Self, right: Self) -> Bool {
        left.hash == right.hash && left.settings == right.settings && left.values == right.values
    }

    /// Hashes the settings and field values, but not the name.
    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension RuleOverride: CustomReflectable {
    /// The name and settings, without field values.
    package var customMirror: Mirror { Mirror(self, children: ["name": name, "settings": settings]) }
}

extension RuleSettings {
    /// Whether a field's value comes from the environment.
    fileprivate var readsEnvironment: Bool {
        [toOrigin.set, toClient.set].contains { fields in
            fields?.values.contains { if case .environment = $0 { true } else { false } } ?? false
        }
    }
}
