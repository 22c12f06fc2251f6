import CacheRules
import HTTPCache
import HTTPTypes

/// Every setting of a configuration with its value, including defaults, for people and programs.
///
/// It contains no secrets. Field values from other sources are shown as `(from the environment:
/// NAME)` or `(from the file: PATH)`. Settings with references to variables are shown as written,
/// such as `${NAME}`, and never with the variables' values.
package struct EffectiveConfiguration: Sendable, Hashable, Codable {
    /// One setting.
    package struct Setting: Sendable, Hashable, Codable {
        /// The setting's name in a file: `store.budget`.
        package var name: String
        /// The value as written in a file; `nil` if there is neither a value nor a default.
        package var value: String?
        /// Whether the value is the default, because the file does not set it.
        package var isDefault: Bool
        /// The line of the file that sets the value; `nil` if the file does not set it.
        package var line: Int?
        /// The file, if it is not the main file.
        package var file: String?
    }

    /// A rule, route or origin.
    package struct Part: Sendable, Hashable, Codable {
        /// The name, or `rule 3`.
        package var name: String
        /// The line on which the part begins; `nil` if it is not from a file.
        package var line: Int?
        /// The file, if it is not the main file.
        package var file: String?
        /// The conditions; empty if the part always applies.
        package var conditions: [Setting]
        /// The settings.
        package var settings: [Setting]
    }

    /// The file's path.
    package var file: String?
    /// See ``Configuration/version``.
    package var version: Int
    /// The top-level settings.
    package var settings: [Setting]
    /// The routes, in the order of matching.
    package var routes: [Part]
    /// The origins with their own settings; `nil` if there are none.
    package var origins: [Part]?
    /// A sentence that explains which rule takes precedence.
    package var precedence: String
    /// The rules in order.
    package var rules: [Part]
}

extension Configuration {
    /// Every setting with its value, including defaults.
    package var effective: EffectiveConfiguration {
        let standard = Configuration()
        let settings = TopSetting.all.map { setting in
            let value = setting.written(self)
            return EffectiveConfiguration.Setting(
                name: setting.name,
                value: written[setting.name] ?? value,
                isDefault: lines[setting.name] == nil && value == setting.written(standard),
                line: lines[setting.name],
                file: files[setting.name]
            )
        }
        return EffectiveConfiguration(
            file: file,
            version: Self.version,
            settings: settings,
            routes: effectiveRoutes,
            origins: origins.isEmpty ? nil : origins.map { $0.effective(self) },
            precedence:
                "The first matching rule that has a setting decides it. If no rule decides a setting, a route's mode and tags "
                + "apply, then the settings above, then the response itself.",
            rules: rules.rules.enumerated().map { $1.effective(number: $0 + 1, in: file) }
        )
    }
}

extension Configuration {
    /// All routes in the order of matching.
    private var effectiveRoutes: [EffectiveConfiguration.Part] {
        func fixed(_ position: Int) -> [EffectiveConfiguration.Part] {
            fixedRoutes.filter { $0.position == position }.map { $0.effective(in: file) }
        }
        return routes.enumerated().flatMap { fixed($0) + [$1.effective(number: $0 + 1, in: file)] }
            + fixed(routes.count)
    }
}

extension Configuration.FixedRoute {
    fileprivate func effective(in main: String?) -> EffectiveConfiguration.Part {
        func setting(_ name: String, _ value: String?, standard: Bool = false) -> EffectiveConfiguration.Setting {
            EffectiveConfiguration.Setting(
                name: name,
                value: written[name] ?? value,
                isDefault: standard && written[name] == nil
            )
        }
        var parts = [setting("host", host, standard: host == nil), setting("path", path, standard: path == "/")]
        if let scheme { parts.append(setting("match.scheme", scheme)) }
        parts += Writers.conditions(conditions).map { setting($0.name, $0.value) }
        var settings = [setting("respond.status", "\(answer.status)")]
        if let location = answer.location { settings.append(setting("respond.location", location)) }
        if !answer.body.isEmpty { settings.append(setting("respond.body", "\(answer.body.utf8.count) bytes")) }
        if let type = answer.contentType { settings.append(setting("respond.content-type", type)) }
        return EffectiveConfiguration.Part(
            name: written["name"] ?? name ?? "route \(number)",
            line: line,
            file: file == main ? nil : file,
            conditions: parts,
            settings: settings
        )
    }
}

extension Configuration.Route {
    fileprivate func effective(number: Int, in main: String?) -> EffectiveConfiguration.Part {
        // A scalar for all of 'rewrite' sets both of its settings.
        let rewrite = written["rewrite"].flatMap { $0.hasPrefix("{") ? nil : $0 }
        func setting(_ name: String, _ value: String?, standard: Bool) -> EffectiveConfiguration.Setting {
            let reference = written[name] ?? (name.hasPrefix("rewrite.") ? rewrite : nil)
            return EffectiveConfiguration.Setting(
                name: name,
                value: reference ?? value,
                isDefault: standard && reference == nil
            )
        }
        return EffectiveConfiguration.Part(
            name: written["name"] ?? name ?? "route \(number)",
            line: line,
            file: file == main ? nil : file,
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
                setting(
                    "tags-from",
                    tagsFrom.isEmpty ? nil : Writers.list(tagsFrom.map(\.rawValue)),
                    standard: tagsFrom.isEmpty
                ),
                setting("upgrades", upgrades.isEmpty ? nil : Writers.list(upgrades), standard: upgrades.isEmpty),
                setting("rewrite.location", "\(rewriting.location)", standard: rewriting.location),
                setting(
                    "rewrite.bodies",
                    rewriting.bodies.isEmpty ? nil : Writers.list(rewriting.bodies),
                    standard: rewriting.bodies.isEmpty
                ),
                setting("compress", "\(compresses)", standard: !compresses),
                setting("error-pages.offline", errorPages.offline?.file, standard: errorPages.offline == nil),
                setting("error-pages.error", errorPages.error?.file, standard: errorPages.error == nil),
                setting("clients.allow", Writers.addresses(clients.allow), standard: clients.allow.isEmpty),
                setting("clients.deny", Writers.addresses(clients.deny), standard: clients.deny.isEmpty),
                setting("limits.requests", Writers.requestRate(requestRate), standard: requestRate == nil),
            ]
        )
    }
}

extension Rule {
    fileprivate func effective(number: Int, in main: String?) -> EffectiveConfiguration.Part {
        let file = location?.file == main ? nil : location?.file
        func setting(_ name: String, _ value: String) -> EffectiveConfiguration.Setting {
            EffectiveConfiguration.Setting(
                name: name,
                value: location?.written[name] ?? value,
                isDefault: false,
                line: location.map { $0.settings[name] ?? $0.line },
                file: file
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
        conditions += Writers.conditions(match.request).map { setting($0.name, $0.value) }
        return EffectiveConfiguration.Part(
            name: location?.written["name"] ?? name ?? "rule \(number)",
            line: location?.line,
            file: file,
            conditions: conditions,
            settings: Setting.all.compactMap { known in known.written(settings).map { setting(known.name, $0) } }
        )
    }
}
