import HTTPCache
import HTTPTypes

/// Reads a configuration from a document and records a finding for each fault.
struct FileReader {
    private let file: String?
    private(set) var findings: [ConfigurationError.Finding] = []
    private(set) var configuration = Configuration()
    private(set) var rules: [Rule] = []
    /// The indices of rules that could not be read. They are not checked further, because their
    /// settings may be incomplete.
    private(set) var brokenRules: Set<Int> = []

    init(_ document: FileValue, file: String?) {
        self.file = file
        configuration.file = file
        read(document)
    }

    private mutating func report(_ line: Int, _ subject: String? = nil, _ setting: String? = nil, _ message: String) {
        findings.append(
            ConfigurationError.Finding(file: file, line: line, subject: subject, setting: setting, message: message)
        )
    }

    /// Runs a closure. If the closure throws a refusal, records it as a finding.
    private mutating func recordingRefusal<Result>(
        _ line: Int,
        _ subject: String? = nil,
        _ setting: String? = nil,
        _ body: () throws(Refusal) -> Result
    ) -> Result? {
        do throws(Refusal) {
            return try body()
        } catch {
            report(error.line ?? line, subject, setting, error.message)
            return nil
        }
    }

    private mutating func read(_ document: FileValue) {
        guard case .mapping(let entries, _) = document else {
            return report(document.line, nil, nil, "Expected 'version: 1' and settings, not \(document.shown).")
        }
        guard let version = entries.first(where: { $0.key == "version" }) else {
            return report(
                1,
                nil,
                "version",
                "It is missing. Write 'version: \(Configuration.version)' on the first line."
            )
        }
        guard case .text("\(Configuration.version)", _, _) = version.value else {
            return report(
                version.line,
                nil,
                "version",
                "\(version.value.shown) is not supported. This program supports version \(Configuration.version)."
            )
        }
        for entry in entries {
            switch entry.key {
            case "version": break
            case "routes": readRoutes(entry)
            case "origins": readOrigins(entry)
            case "rules": readRules(entry)
            default: readTop(entry)
            }
        }
        findings += configuration.contradictions(refused: Set(findings.compactMap(\.setting)))
    }

    private mutating func readTop(_ entry: FileValue.Entry) {
        if let setting = TopSetting.all.first(where: { $0.name == entry.key }) {
            return read(setting, entry)
        }
        guard let group = TopSetting.groups[entry.key] else {
            let known =
                ["version", "routes", "origins", "rules"] + TopSetting.groups.keys
                + TopSetting.all.map(\.name).filter { !$0.contains(".") }
            return report(entry.line, nil, nil, Readers.unknown(entry, of: known.sorted()).message)
        }
        guard
            let entries = recordingRefusal(
                entry.line,
                nil,
                entry.key,
                { () throws(Refusal) in
                    try entry.value.entries("settings (\(group.joined(separator: ", ")))")
                }
            )
        else { return }
        for inner in entries {
            if let setting = TopSetting.all.first(where: { $0.name == "\(entry.key).\(inner.key)" }) {
                read(setting, inner)
            } else {
                report(inner.line, nil, entry.key, Readers.unknown(inner, of: group, in: entry.key).message)
            }
        }
    }

    private mutating func read(_ setting: TopSetting, _ entry: FileValue.Entry) {
        var configuration = configuration
        let isRead: Void? = recordingRefusal(entry.line, nil, setting.name) { () throws(Refusal) in
            try setting.read(entry.value, &configuration)
        }
        guard isRead != nil else { return }
        self.configuration = configuration
        self.configuration.lines[setting.name] = entry.line
    }
}

extension FileReader {
    private static let routeKeys = [
        "name", "host", "path", "origin", "preserve-host", "mode", "unknown-fields", "tags-from", "upgrades", "rewrite",
        "compress", "error-pages", "clients", "limits", "match", "respond",
    ]

    private mutating func readRoutes(_ entry: FileValue.Entry) {
        guard case .list(let routes, _) = entry.value else {
            return report(entry.line, nil, "routes", "Expected a list of routes, not \(entry.value.shown).")
        }
        for (index, value) in routes.enumerated() { readRoute(value, number: index + 1) }
    }

    private mutating func readRoute(_ value: FileValue, number: Int) {
        var route = Configuration.Route(origin: "", line: value.line)
        route.number = number
        guard case .mapping(let entries, _) = value else {
            let message = "Expected a mapping with an 'origin', not \(value.shown)."
            return report(value.line, "route \(number)", nil, message)
        }
        if case .text(let name, _, _)? = entries.first(where: { $0.key == "name" })?.value { route.name = name }
        let subject = route.subject(number: number)
        if entries.contains(where: { $0.key == "respond" || $0.key == "match" }) {
            return readFixedRoute(entries, value.line, subject, number)
        }
        let before = findings.count
        for inner in entries {
            _ = recordingRefusal(inner.line, subject, Self.routeKeys.contains(inner.key) ? inner.key : nil) {
                () throws(Refusal) in
                try Self.read(inner, &route)
            }
        }
        // Leave out a route that could not be read. Further checks would only cause more findings.
        if findings.count == before { configuration.routes.append(route) }
    }

    private static func read(_ entry: FileValue.Entry, _ route: inout Configuration.Route) throws(Refusal) {
        switch entry.key {
        case "name": route.name = try entry.value.text("a name")
        case "host": route.host = try entry.value.text("a host")
        case "path": route.path = try entry.value.text("a path such as '/v1'")
        case "origin": route.origin = try entry.value.text("a URL such as 'https://api.example.com'")
        case "preserve-host": route.preservesHost = try entry.value.flag()
        case "mode": route.mode = try Readers.mode(entry.value)
        case "unknown-fields":
            route.unknownFields = try entry.value.word(
                Configuration.FieldHandling.allCases.map { ($0.rawValue, $0) }
            )
        case "rewrite": route.rewriting = try Readers.rewriting(entry.value)
        case "compress": route.compresses = try entry.value.flag()
        case "error-pages": route.errorPages = try Readers.errorPages(entry.value)
        case "clients": route.clients = try Readers.clientLists(entry.value)
        case "limits": route.requestRate = try Readers.routeLimits(entry.value)
        case "tags-from": route.tagsFrom = try Readers.tagFields(entry.value)
        case "upgrades": route.upgrades = try Readers.upgrades(entry.value)
        default: throw Readers.unknown(entry, of: routeKeys)
        }
    }

    private static let fixedRouteKeys = ["name", "host", "path", "match", "respond"]

    /// Reads a route that the gateway answers itself.
    private mutating func readFixedRoute(
        _ entries: [FileValue.Entry],
        _ line: Int,
        _ subject: String,
        _ number: Int
    ) {
        guard entries.contains(where: { $0.key == "respond" }) else {
            return report(line, subject, "match", "Only a route with 'respond' can have it. Use 'match' in a rule.")
        }
        let before = findings.count
        var route = Configuration.FixedRoute(
            answer: FixedAnswer(status: 0),
            position: configuration.routes.count,
            line: line,
            number: number
        )
        for inner in entries {
            let isKnown = Self.routeKeys.contains(inner.key)
            _ = recordingRefusal(inner.line, subject, isKnown ? inner.key : nil) { () throws(Refusal) in
                switch inner.key {
                case "name": route.name = try inner.value.text("a name")
                case "host": route.host = try inner.value.text("a host")
                case "path": route.path = try inner.value.text("a path such as '/v1'")
                case "match": try Readers.match(inner.value, &route)
                case "respond": route.answer = try Readers.fixedAnswer(inner.value)
                case _ where isKnown:
                    throw Refusal("It has no effect in a route with 'respond', which never asks an origin. Remove it.")
                default: throw Readers.unknown(inner, of: Self.fixedRouteKeys)
                }
            }
        }
        if findings.count == before { configuration.fixedRoutes.append(route) }
    }

    private mutating func readOrigins(_ entry: FileValue.Entry) {
        guard
            let entries = recordingRefusal(
                entry.line,
                nil,
                "origins",
                { () throws(Refusal) in
                    let entries = try entry.value.entries("origins and their settings")
                    let limit = Configuration.originLimit
                    guard entries.count <= limit else {
                        throw Refusal("There are \(entries.count) origins. The limit is \(limit).")
                    }
                    return entries
                }
            )
        else { return }
        for inner in entries { readOrigin(inner) }
    }

    private mutating func readOrigin(_ entry: FileValue.Entry) {
        let before = findings.count
        let known = configuration.origins
        let url = recordingRefusal(entry.line, nil, "origins") { () throws(Refusal) in
            let url = try OriginReader.url(entry)
            guard !known.contains(where: { $0.url == url }) else {
                throw Refusal("'\(url)' is listed twice. Remove one of them.")
            }
            return url
        }
        guard let url else { return }
        var origin = Configuration.Origin(url: url)
        origin.line = entry.line
        let subject = "origin '\(url)'"
        let settings = recordingRefusal(entry.line, subject) { () throws(Refusal) in
            try entry.value.entries("settings (\(OriginReader.keys.joined(separator: ", ")))")
        }
        for setting in settings ?? [] {
            let name = OriginReader.keys.contains(setting.key) ? setting.key : nil
            _ = recordingRefusal(setting.line, subject, name) { () throws(Refusal) in
                try OriginReader.read(setting, &origin)
            }
        }
        // Leave out an origin that could not be read. Further checks would only cause more
        // findings.
        if findings.count == before { configuration.origins.append(origin) }
    }

    private mutating func readRules(_ entry: FileValue.Entry) {
        guard case .list(let values, _) = entry.value else {
            return report(entry.line, nil, "rules", "Expected a list of rules, not \(entry.value.shown).")
        }
        for (index, value) in values.enumerated() { readRule(value, number: index + 1) }
    }

    private mutating func readRule(_ value: FileValue, number: Int) {
        let before = findings.count
        var rule = Rule(settings: RuleSettings(), location: Rule.Location(file: file, line: value.line))
        defer {
            rules.append(rule)
            if findings.count > before { brokenRules.insert(number - 1) }
        }
        guard case .mapping(let entries, _) = value else {
            return report(value.line, "rule \(number)", nil, "Expected a mapping with settings, not \(value.shown).")
        }
        if case .text(let name, _, _)? = entries.first(where: { $0.key == "name" })?.value, !name.isEmpty {
            rule.name = name
        }
        let subject = CheckedRules.subject(rule, number: number)
        for entry in entries {
            switch entry.key {
            case "name":
                _ = recordingRefusal(entry.line, subject, "name") { () throws(Refusal) in try entry.value.text("a name")
                }
                rule.location?.settings["name"] = entry.line
            case "match": readMatch(entry, &rule, subject)
            default: readSetting(entry, &rule, subject)
            }
        }
    }

    private mutating func readMatch(_ entry: FileValue.Entry, _ rule: inout Rule, _ subject: String) {
        let known = ["url", "method", "content-type", "cookie", "field", "query"]
        guard
            let entries = recordingRefusal(
                entry.line,
                subject,
                "match",
                { () throws(Refusal) in
                    try entry.value.entries("conditions (\(known.joined(separator: ", ")))")
                }
            )
        else { return }
        if entries.isEmpty {
            report(
                entry.line,
                subject,
                "match",
                "It has no conditions. Remove 'match' if the rule is for all requests."
            )
        }
        for inner in entries {
            let setting = known.contains(inner.key) ? "match.\(inner.key)" : "match"
            rule.location?.settings[setting] = inner.line
            _ = recordingRefusal(inner.line, subject, setting) { () throws(Refusal) in
                switch inner.key {
                case "url": rule.match.urls = try Readers.texts(inner.value, "a pattern").map { URLPattern($0) }
                case "method": rule.match.methods = try Readers.methods(inner.value)
                case "content-type": rule.match.contentTypes = try Readers.texts(inner.value, "a media type")
                case "cookie": rule.match.request.cookies = try Readers.valuesByName(inner.value, "cookies")
                case "field": rule.match.request.fields = try Readers.valuesByField(inner.value)
                case "query": rule.match.request.query = try Readers.valuesByName(inner.value, "parameters")
                default: throw Readers.unknown(inner, of: known)
                }
            }
        }
    }

    private mutating func readSetting(_ entry: FileValue.Entry, _ rule: inout Rule, _ subject: String) {
        if let place = Setting.places[entry.key], Setting.groups[entry.key] == nil {
            return read(Setting.all[place], entry, &rule, subject)
        }
        guard let group = Setting.groups[entry.key], !entry.key.contains(".") else {
            let known = ["name", "match"] + Setting.groups.keys + Setting.all.map(\.name).filter { !$0.contains(".") }
            return report(entry.line, subject, nil, Readers.unknown(entry, of: known.sorted()).message)
        }
        guard
            let entries = recordingRefusal(
                entry.line,
                subject,
                entry.key,
                { () throws(Refusal) in
                    try entry.value.entries("settings (\(group.joined(separator: ", ")))")
                }
            )
        else { return }
        for inner in entries {
            if let place = Setting.places["\(entry.key).\(inner.key)"] {
                read(Setting.all[place], inner, &rule, subject)
            } else {
                report(inner.line, subject, entry.key, Readers.unknown(inner, of: group, in: entry.key).message)
            }
        }
    }

    private mutating func read(_ setting: Setting, _ entry: FileValue.Entry, _ rule: inout Rule, _ subject: String) {
        rule.location?.settings[setting.name] = entry.line
        var settings = rule.settings
        let isRead: Void? = recordingRefusal(entry.line, subject, setting.name) { () throws(Refusal) in
            try setting.read(entry.value, &settings)
        }
        if isRead != nil { rule.settings = settings }
    }
}
