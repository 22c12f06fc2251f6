import HTTPCache
import HTTPTypes

/// What a configuration amounts to: every setting with its value, defaults included, for people and
/// for programs.
///
/// It holds no secrets: values of fields that come from elsewhere are `(from the environment:
/// NAME)` or `(from the file: PATH)`.
public struct EffectiveConfiguration: Sendable, Hashable, Codable {
    /// One setting.
    public struct Setting: Sendable, Hashable, Codable {
        /// As it is written in a file: `store.budget`.
        public var name: String
        /// As it is written in a file; `nil` where there is none, and no default.
        public var value: String?
        /// Nothing was said about it.
        public var isDefault: Bool
        /// The line that says it.
        public var line: Int?
    }

    /// One rule or route.
    public struct Part: Sendable, Hashable, Codable {
        /// Its name, or `rule 3`.
        public var name: String
        /// The line on which it begins.
        public var line: Int?
        /// When it holds: none for what always does.
        public var conditions: [Setting]
        /// What holds then.
        public var settings: [Setting]
    }

    /// The file.
    public var file: String?
    /// See ``Configuration/version``.
    public var version: Int
    /// The settings of the top level.
    public var settings: [Setting]
    /// In the order in which they are tried.
    public var routes: [Part]
    /// How rules go before each other, in words.
    public var precedence: String
    /// In their order.
    public var rules: [Part]
}

extension Configuration {
    /// Every setting of the file with the value that it has.
    public var effective: EffectiveConfiguration {
        let standard = Configuration()
        let settings = TopSetting.all.map { setting in
            let value = setting.written(self)
            return EffectiveConfiguration.Setting(
                name: setting.name,
                value: value,
                isDefault: lines[setting.name] == nil && value == setting.written(standard),
                line: lines[setting.name]
            )
        }
        return EffectiveConfiguration(
            file: file,
            version: Self.version,
            settings: settings,
            routes: routes.enumerated().map { $1.effective(number: $0 + 1) },
            precedence:
                "Of the rules that match a request, the first that has a setting decides it, each setting on its own; "
                + "then a route's mode, then the settings above, then the response itself.",
            rules: rules.rules.enumerated().map { $1.effective(number: $0 + 1) }
        )
    }
}

extension Configuration.Route {
    fileprivate func effective(number: Int) -> EffectiveConfiguration.Part {
        func setting(_ name: String, _ value: String?, standard: Bool) -> EffectiveConfiguration.Setting {
            EffectiveConfiguration.Setting(name: name, value: value, isDefault: standard, line: nil)
        }
        return EffectiveConfiguration.Part(
            name: name ?? "route \(number)",
            line: line,
            conditions: [setting("host", host, standard: host == nil), setting("path", path, standard: path == "/")],
            settings: [
                setting("origin", origin, standard: false),
                setting("preserve-host", "\(preservesHost)", standard: !preservesHost),
                setting("mode", mode?.rawValue, standard: mode == nil),
                setting(
                    "unknown-fields",
                    (unknownFields ?? .pass).rawValue,
                    standard: unknownFields == nil || unknownFields == .pass
                ),
            ]
        )
    }
}

extension Rule {
    fileprivate func effective(number: Int) -> EffectiveConfiguration.Part {
        func setting(_ name: String, _ value: String) -> EffectiveConfiguration.Setting {
            EffectiveConfiguration.Setting(
                name: name,
                value: value,
                isDefault: false,
                line: location.map { $0.settings[name] ?? $0.line }
            )
        }
        var conditions: [EffectiveConfiguration.Setting] = []
        if !match.urls.isEmpty { conditions.append(setting("match.url", Writers.list(match.urls.map(\.text)))) }
        if !match.methods.isEmpty {
            conditions.append(setting("match.method", Writers.list(match.methods.map(\.rawValue))))
        }
        if !match.contentTypes.isEmpty {
            conditions.append(setting("match.content-type", Writers.list(match.contentTypes)))
        }
        return EffectiveConfiguration.Part(
            name: name ?? "rule \(number)",
            line: location?.line,
            conditions: conditions,
            settings: Setting.all.compactMap { known in known.written(settings).map { setting(known.name, $0) } }
        )
    }
}
