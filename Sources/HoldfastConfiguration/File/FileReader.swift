import CacheRules
import HTTPCache
import HTTPTypes

/// Reads a configuration from its files and records a finding for each fault.
struct FileReader {
    /// The file that is being read.
    private var file: String?
    private(set) var findings: [ConfigurationError.Finding] = []
    private(set) var configuration = Configuration()
    private(set) var rules: [Rule] = []
    /// The indices of rules that could not be read. They are not checked further, because their
    /// settings may be incomplete.
    private(set) var brokenRules: Set<Int> = []
    private var warnings: [ConfigurationError.Finding] = []
    private var expansion: Expansion
    /// The number of routes so far. Those that could not be read count, too.
    private var routeCount = 0

    /// Reads the files in order. Routes and rules are appended. A setting may be in one file only.
    ///
    /// - Parameter environment: the variables for `${NAME}`.
    init(_ sources: [SourceFiles.Source], environment: [String: String]) {
        expansion = Expansion(environment: environment)
        configuration.file = sources.first?.path
        var areSupported = true
        for source in sources {
            file = source.path
            areSupported = read(source.document) && areSupported
        }
        configuration.references = expansion.references
        configuration.readingWarnings = warnings
        if areSupported { findings += configuration.contradictions(refused: refused) }
    }

    /// The settings that could not be read, and the lists of which a part could not be read. They
    /// cannot be compared with other settings.
    private var refused: Set<String> {
        var result = Set(findings.filter { $0.subject == nil }.compactMap(\.setting))
        if configuration.routeCount < routeCount { result.insert("routes") }
        if findings.contains(where: { $0.subject?.hasPrefix("origin ") == true }) { result.insert("origins") }
        return result
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

    /// Expands the references to variables in a value, and reads it.
    ///
    /// A finding never contains the value of a variable. If a reader's message may contain one, it
    /// is replaced by the reader's message about the text before expansion.
    ///
    /// - Returns: the value as written if it has references, otherwise an empty text. `nil` if it
    ///   was rejected.
    private mutating func expanding(
        _ entry: FileValue.Entry,
        _ shape: Shape,
        _ subject: String? = nil,
        _ setting: String? = nil,
        _ read: (FileValue) throws(Refusal) -> Void
    ) -> String? {
        let value = entry.value
        guard value.hasReferences else {
            let isRead: Void? = recordingRefusal(entry.line, subject, setting) { () throws(Refusal) in try read(value) }
            return isRead == nil ? nil : ""
        }
        var expansion = expansion
        let known = expansion.emptied.count
        let expanded = recordingRefusal(entry.line, subject, setting) { () throws(Refusal) in
            try shape.rejectSecrets(in: value)
            return try expansion.expand(value)
        }
        self.expansion = expansion
        guard let expanded else { return nil }
        let isRead: Void? = recordingRefusal(entry.line, subject, setting) { () throws(Refusal) in
            do throws(Refusal) {
                try read(expanded)
            } catch {
                // The reader's message would not say which text is empty.
                if let empty = expansion.emptied.dropFirst(known).first(where: \.isWhole) {
                    throw Refusal(empty.message, line: empty.line)
                }
                guard expansion.references.mayAppear(in: error.message) else { throw error }
                try read(value)
                throw Refusal(
                    "\(shown(value.written)) has a value that this setting does not accept. Change the variable."
                )
            }
        }
        guard isRead != nil else { return nil }
        for text in expansion.emptied.dropFirst(known) {
            warnings.append(
                ConfigurationError.Finding(
                    file: file,
                    line: text.line,
                    subject: subject,
                    setting: setting,
                    message: text.message
                )
            )
        }
        return value.written
    }

    /// - Returns: whether the version of the file is supported.
    private mutating func read(_ document: FileValue) -> Bool {
        guard case .mapping(let entries, _) = document else {
            report(document.line, nil, nil, "Expected 'version: 1' and settings, not \(document.kind).")
            return false
        }
        guard let version = entries.first(where: { $0.key == "version" }) else {
            report(1, nil, "version", "It is missing. Write 'version: \(Configuration.version)' on the first line.")
            return false
        }
        guard case .text("\(Configuration.version)", _, _) = version.value else {
            report(
                version.line,
                nil,
                "version",
                "\(version.value.shown) is not supported. This program supports version \(Configuration.version)."
            )
            return false
        }
        for entry in entries {
            switch entry.key {
            case "version", SourceFiles.key: break
            case "routes": readRoutes(entry)
            case "origins": readOrigins(entry)
            case "rules": readRules(entry)
            default: readTop(entry)
            }
        }
        return true
    }

    private mutating func readTop(_ entry: FileValue.Entry) {
        if let setting = TopSetting.all.first(where: { $0.name == entry.key }) {
            return read(setting, entry)
        }
        guard let group = TopSetting.groups[entry.key] else {
            let known =
                ["version", SourceFiles.key, "routes", "origins", "rules"] + TopSetting.groups.keys
                + TopSetting.all.map(\.name).filter { !$0.contains(".") }
            let message = MisplacedSetting.message(entry.key, at: .top, of: known)
            return report(entry.line, nil, nil, message ?? Readers.unknown(entry, of: known.sorted()).message)
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
                let message = MisplacedSetting.message(inner.key, in: entry.key, at: .top, of: group)
                report(
                    inner.line,
                    nil,
                    entry.key,
                    message ?? Readers.unknown(inner, of: group, in: entry.key).message
                )
            }
        }
    }

    private mutating func read(_ setting: TopSetting, _ entry: FileValue.Entry) {
        if let place = configuration.place(of: setting.name, from: file) {
            return report(entry.line, nil, setting.name, "It is already set \(place.after). Remove one of them.")
        }
        var configuration = configuration
        let written = expanding(entry, setting.shape, nil, setting.name) { (value) throws(Refusal) in
            try setting.read(value, &configuration)
        }
        guard let written else { return }
        configuration.note(setting.name, file, entry.line, written)
        self.configuration = configuration
    }
}

extension FileReader {
    /// - Parameter example: a member of the list.
    private static func listMessage(_ entry: FileValue.Entry, _ example: String) -> String {
        "Expected a list of \(entry.key), not \(entry.value.shown). Write each of them as '\(example)'."
    }

    private mutating func readRoutes(_ entry: FileValue.Entry) {
        guard case .list(let routes, _) = entry.value else {
            let example = "- {name: api, host: api.local, origin: \"https://api.example.com\"}"
            return report(entry.line, nil, "routes", Self.listMessage(entry, example))
        }
        for value in routes {
            routeCount += 1
            readRoute(value, number: routeCount)
        }
    }

    private mutating func readRoute(_ value: FileValue, number: Int) {
        var route = Configuration.Route(origin: "", line: value.line)
        route.number = number
        route.file = file
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
        let known = Configuration.Route.settings
        route.written = read(entries, known, &route, subject, .route, known: known.map(\.name) + ["match", "respond"])
        // Leave out a route that could not be read. Further checks would only cause more findings.
        if findings.count == before { configuration.routes.append(route) }
    }

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
            file: file,
            number: number
        )
        let known = Configuration.FixedRoute.settings
        func needsOrigin(_ entry: FileValue.Entry) -> Bool {
            Configuration.Route.settings.contains { $0.name == entry.key } && !known.contains { $0.name == entry.key }
        }
        for entry in entries where needsOrigin(entry) {
            let message = "It has no effect in a route with 'respond', which never asks an origin. Remove it."
            report(entry.line, subject, entry.key, message)
        }
        let own = entries.filter { !needsOrigin($0) }
        route.written = read(own, known, &route, subject, .route, known: known.map(\.name))
        if findings.count == before { configuration.fixedRoutes.append(route) }
    }

    /// Reads the settings of a route or an origin.
    ///
    /// - Parameter known: the names for a message about an unknown setting.
    /// - Returns: the settings with references to variables, as written.
    private mutating func read<Part>(
        _ entries: [FileValue.Entry],
        _ settings: [PartSetting<Part>],
        _ part: inout Part,
        _ subject: String,
        _ level: MisplacedSetting.Level,
        known: [String]
    ) -> [String: String] {
        var result: [String: String] = [:]
        for entry in entries {
            guard let setting = settings.first(where: { $0.name == entry.key }) else {
                let isRedirect = entry.key == "redirect" && known.contains("respond")
                let message =
                    isRedirect
                    ? Self.redirectAdvice : MisplacedSetting.message(entry.key, at: level, of: known)
                report(entry.line, subject, nil, message ?? Readers.unknown(entry, of: known).message)
                continue
            }
            let written = expanding(entry, setting.shape, subject, setting.name) { (value) throws(Refusal) in
                try setting.read(value, &part)
            }
            result.add(entry, written)
        }
        return result
    }

    private static let redirectAdvice =
        "'redirect' is unknown. Write 'respond: {status: 301, location: URL}'."

    private mutating func readOrigins(_ entry: FileValue.Entry) {
        let known = configuration.origins.count
        guard
            let entries = recordingRefusal(
                entry.line,
                nil,
                "origins",
                { () throws(Refusal) in
                    if case .list = entry.value {
                        throw Refusal(
                            "Expected origins and their settings, not a list. Write each of them as '\"https://api.example.com\": {ca: ca.pem}'."
                        )
                    }
                    let entries = try entry.value.entries("origins and their settings")
                    let limit = Configuration.originLimit
                    let count = known + entries.count
                    guard count <= limit else { throw Refusal("There are \(count) origins. The limit is \(limit).") }
                    return entries
                }
            )
        else { return }
        for inner in entries { readOrigin(inner) }
    }

    private mutating func readOrigin(_ entry: FileValue.Entry) {
        let before = findings.count
        let (known, file) = (configuration.origins, self.file)
        let url = recordingRefusal(entry.line, nil, "origins") { () throws(Refusal) in
            let url = try OriginReader.url(entry)
            if let other = known.first(where: { $0.url == url }) {
                let place = other.file == file ? "" : " (\(Place(other.file, other.line ?? 1, from: file)))"
                throw Refusal("'\(url)' is listed twice\(place). Remove one of them.")
            }
            return url
        }
        guard let url else { return }
        var origin = Configuration.Origin(url: url)
        origin.line = entry.line
        origin.file = file
        let subject = "origin '\(url)'"
        let settings = recordingRefusal(entry.line, subject) { () throws(Refusal) in
            try entry.value.entries("settings (\(OriginReader.settings.map(\.name).joined(separator: ", ")))")
        }
        let names = OriginReader.settings.map(\.name)
        origin.written = read(settings ?? [], OriginReader.settings, &origin, subject, .origin, known: names)
        // Leave out an origin that could not be read. Further checks would only cause more
        // findings.
        if findings.count == before { configuration.origins.append(origin) }
    }

    private mutating func readRules(_ entry: FileValue.Entry) {
        guard case .list(let values, _) = entry.value else {
            let example = "- {name: api, match: {url: /api/**}, freshness: {lifetime: 5 m}}"
            return report(entry.line, nil, "rules", Self.listMessage(entry, example))
        }
        for value in values { readRule(value, number: rules.count + 1) }
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
                rule.location?.settings["name"] = entry.line
                let written = expanding(entry, .text, subject, "name") { (value) throws(Refusal) in
                    rule.name = try value.text("a name")
                }
                rule.location?.written.add(entry, written)
            case "match": readMatch(entry, &rule, subject)
            default: readSetting(entry, &rule, subject)
            }
        }
    }

    private mutating func readMatch(_ entry: FileValue.Entry, _ rule: inout Rule, _ subject: String) {
        let known = Rule.Match.settings.map(\.name)
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
            guard let setting = Rule.Match.settings.first(where: { $0.name == inner.key }) else {
                let message =
                    inner.key == "path"
                    ? "'path' is unknown. Write the path in 'url', such as 'url: \"/news/**\"'."
                    : Readers.unknown(inner, of: known).message
                report(inner.line, subject, "match", message)
                continue
            }
            let name = "match.\(setting.name)"
            rule.location?.settings[name] = inner.line
            let written = expanding(inner, setting.shape, subject, name) { (value) throws(Refusal) in
                try setting.read(value, &rule.match)
            }
            rule.location?.written.add(inner, written, named: name)
        }
    }

    /// The advice for settings that routes have, and rules do not. Decision 87 says why.
    private static let routeSettings = [
        "respond": "Write a route with 'respond', and with the conditions in its 'match'.",
        "redirect": "Write a route with 'respond: {status: 301, location: URL}'.",
        "limits": "Write 'limits.requests' in a route, or at the top level.",
        "clients": "Write 'clients.allow' and 'clients.deny' in a route, or at the top level.",
    ]

    private mutating func readSetting(_ entry: FileValue.Entry, _ rule: inout Rule, _ subject: String) {
        if let place = Setting.places[entry.key], Setting.groups[entry.key] == nil {
            return read(Setting.all[place], entry, &rule, subject)
        }
        guard let group = Setting.groups[entry.key], !entry.key.contains(".") else {
            if let advice = Self.routeSettings[entry.key] {
                return report(entry.line, subject, entry.key, "It is not a setting of rules. \(advice)")
            }
            let known = ["name", "match"] + Setting.groups.keys + Setting.all.map(\.name).filter { !$0.contains(".") }
            let message = MisplacedSetting.message(entry.key, at: .rule, of: known)
            return report(entry.line, subject, nil, message ?? Readers.unknown(entry, of: known.sorted()).message)
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
                let message = MisplacedSetting.message(inner.key, in: entry.key, at: .rule, of: group)
                report(
                    inner.line,
                    subject,
                    entry.key,
                    message ?? Readers.unknown(inner, of: group, in: entry.key).message
                )
            }
        }
    }

    private mutating func read(_ setting: Setting, _ entry: FileValue.Entry, _ rule: inout Rule, _ subject: String) {
        if let line = rule.location?.settings[setting.name] {
            return report(entry.line, subject, setting.name, "It is already set on line \(line). Remove one of them.")
        }
        rule.location?.settings[setting.name] = entry.line
        var settings = rule.settings
        let written = expanding(entry, setting.shape, subject, setting.name) { (value) throws(Refusal) in
            try setting.read(value, &settings)
        }
        rule.location?.written.add(entry, written, named: setting.name)
        if written != nil { rule.settings = settings }
    }
}
