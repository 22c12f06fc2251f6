import HTTPCacheOperations
import Holdfast
import HoldfastConfiguration
import HoldfastGateway

extension ServeSettings {
    /// The origins of the routes, without duplicates.
    var origins: [String] {
        var seen: Set<String> = []
        return gateway.routes.own.map { "\($0.origin.scheme)://\($0.origin.authority)" }
            .filter { seen.insert($0).inserted }
    }

    /// Returns the settings in effect: those in the file, replaced by settings from outside the
    /// file and by settings that cannot change after startup.
    func effective(_ named: NamedSettings, start: ServeSettings) -> EffectiveConfiguration {
        var effective = file.effective
        var values: [String: String] = [:]
        if !named.listen.isEmpty { values["listen"] = Configuration.text(listeners: named.listen.map(\.description)) }
        values["mode"] = named.mode?.rawValue
        values["threads"] = named.threads.map(String.init)
        values["store.path"] = named.store
        values["log.access"] = named.accessLog?.rawValue
        if named.hasNoControl { values["control.socket"] = "off" }
        let delay = drainDelay(start: start)
        if delay != file.drainDelay ?? file.standardDrainDelay(isControlled: !file.control.isOff) {
            values["drain.delay"] = Configuration.text(drainDelay: delay)
        }
        let kept = Set(start.kept(against: self).map(\.setting))
        let first = Dictionary(start.file.effective.settings.map { ($0.name, $0) }) { $1 }
        effective.settings = effective.settings.map { setting in
            var setting = kept.contains(setting.name) ? first[setting.name] ?? setting : setting
            if let value = values[setting.name] {
                setting.value = value
                setting.isDefault = false
                setting.line = nil
            }
            return setting
        }
        if let origin = named.origin {
            let url = "\(origin.scheme)://\(origin.authority)\(origin.pathPrefix)"
            var replaced = Configuration()
            replaced.routes = [Configuration.Route(origin: url)]
            effective.routes = replaced.effective.routes
        }
        return effective
    }
}

extension EffectiveConfiguration {
    /// The maximum number of changes in a report.
    private static let changeLimit = 1000

    /// Returns the settings, routes and rules that differ, wherever they are in the file.
    func changes(since before: EffectiveConfiguration) -> [ReloadReport.Change] {
        var changes: [ReloadReport.Change] = []
        let old = Dictionary(before.settings.map { ($0.name, $0.value) }) { $1 }
        for setting in settings where old[setting.name] != setting.value {
            changes.append(.init(setting: setting.name, from: old[setting.name] ?? nil, to: setting.value))
        }
        changes += Self.changes("origin", before.origins ?? [], origins ?? [])
        changes += Self.changes("route", before.routes, routes) + Self.changes("rule", before.rules, rules)
        return Array(changes.prefix(Self.changeLimit))
    }

    private static func changes(_ kind: String, _ before: [Part], _ after: [Part]) -> [ReloadReport.Change] {
        func texts(_ parts: [Part]) -> [String: String] { Dictionary(parts.map { ($0.name, $0.text) }) { $1 } }
        let (old, new) = (texts(before), texts(after))
        let names = before.map(\.name) + after.map(\.name).filter { old[$0] == nil }
        var changes = names.filter { old[$0] != new[$0] }.map {
            ReloadReport.Change(setting: "\(kind) '\($0)'", from: old[$0], to: new[$0])
        }
        let kept = [before, after].map { parts in parts.map(\.name).filter { old[$0] != nil && new[$0] != nil } }
        if kept[0] != kept[1] {
            // The first match is used, so the order matters, too.
            changes.append(.init(setting: "order of \(kind)s", from: kept[0].listed, to: kept[1].listed))
        }
        return changes
    }
}

extension EffectiveConfiguration.Part {
    /// The conditions and settings, without their lines.
    fileprivate var text: String {
        let text = (conditions + settings).filter { !$0.isDefault }.map { "\($0.name): \($0.value ?? "")" }
            .joined(separator: ", ")
        return text.count > 500 ? text.prefix(500) + "…" : text
    }
}

extension [String] {
    fileprivate var listed: String {
        let shown = prefix(20).joined(separator: ", ")
        return count > 20 ? "\(shown) and \(count - 20) more" : shown
    }
}
