import Foundation
import HTTPCache
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// The schema comes from the tables that read a file, and rejects nothing that a reader accepts.
/// 'scripts/test-schema' tries the schema itself on files.
@Suite(.timeLimit(.minutes(20))) struct ShapeTests {
    /// A setting: its name, its shape, and whether its reader accepts a value.
    struct Known: Sendable, CustomTestStringConvertible {
        let name: String
        let shape: Shape
        let accepts: @Sendable (FileValue) -> Bool
        var testDescription: String { name }
    }

    private static func parts<Part>(
        _ prefix: String,
        _ settings: [PartSetting<Part>],
        _ part: @escaping @Sendable () -> Part
    ) -> [Known] {
        settings.map { setting in
            Known(name: prefix + setting.name, shape: setting.shape) { value in
                var part = part()
                return (try? setting.read(value, &part)) != nil
            }
        }
    }

    static let known: [Known] = {
        var known = TopSetting.all.map { setting in
            Known(name: setting.name, shape: setting.shape) { value in
                var configuration = Configuration()
                return (try? setting.read(value, &configuration)) != nil
            }
        }
        known += Setting.all.map { setting in
            Known(name: "rule." + setting.name, shape: setting.shape) { value in
                var settings = RuleSettings()
                return (try? setting.read(value, &settings)) != nil
            }
        }
        known += parts("route.", Configuration.Route.settings) { Configuration.Route(origin: "https://a.example") }
        let fixed = Configuration.FixedRoute(answer: FixedAnswer(status: 404), position: 0, number: 1)
        known += parts("route.", Configuration.FixedRoute.settings) { fixed }
        known += parts("origin.", OriginReader.settings) { Configuration.Origin(url: "https://a.example") }
        known += parts("match.", Rule.Match.settings) { Rule.Match() }
        return known
    }()

    private static func value(_ yaml: String) throws -> FileValue {
        var document = Document()
        return try #require(try document.read(yaml))
    }

    /// Values of every kind, with mistakes.
    private static let values = [
        "true", "FALSE", "on", "off", "Off", "no", "yes", "0", "1", "-1", "+5", "12", "60", "200", "600", "1024", "0.5",
        "1.5", ".5", "1e-1", "nan", "5 m", "5m", "1.5 h", "5 M", "1000 ms", "10 s", "3 w", "5", "1 MiB", "2 GiB",
        "10kB",
        "10 KB", "0 B", "0660", "777", "888", "unlimited", "text", "any", "graphql", "online", "offline",
        "preferStored",
        "drop", "pass", "bypass", "trusted", "everyone", "reject", "forward", "notable", "all", "json", "combined",
        "redacted", "full", "masked", "none", "stderr", "responses", "serve", "validate", "queued", "everywhere", "GET",
        "[GET, HEAD]", "get", "websocket", "Surrogate-Key", "text/html", "/healthz", "127.0.0.1:80", "10.0.0.0/8",
        "https://m.example", "redis://a", "[]", "{}", "[1]", "[200, 404]", "[a, b]", "[a, [b]]", "[must-revalidate]",
        "no-store", "invalidated", "{a: b}", "{env: A}", "{file: a}", "{env: A, file: a}", "{field: A}", "{cookie: A}",
        "{ends-with: a}", "{ends-with: a, largest: 1 MiB}", "{largest: 1 MiB}", "{keep: []}", "{keep: a}",
        "{keep: [a], forward: all}", "{keep: [a], forward: some}", "{forward: all}",
        "{cookies: {a: [b]}}", "{cookies: {a: b}, fields: {X-A: [c]}}", "{cookies: [a]}", "{A: text}", "{A: {env: B}}",
        "{A: {env: B, file: c}}", "{A: [text]}", "{empty: true}", "{html: x}", "{smallest-json-share: 0.5}",
        "{smallest-json-share: 2}", "{location: false}", "{bodies: text/html}", "{bodies: []}", "{path: /h}",
        "{path: /h, interval: 10 s, timeout: 1 s, expect: 200-399}", "{path: /h, expect: 204}", "{interval: 10 s}",
        "{connect: 1 s}", "{connect: 1}", "{connect: 1 s, idle: 2 s, x: 1 s}", "{wait: 1 s, lease: 5 s}", "{wait: off}",
        "{time: 2 h, entries: 2000}", "{entries: 1}", "{ca: a}", "{ca: a, certificate: b, key: c, server-name: d}",
        "{tags: {a: 1 GiB}, each-origin: 1 GiB}", "{origins: {\"https://a.example\": 1 GiB}}", "{tags: {a: 1}}",
        "[{name: a, file: b, scope: read}]", "[{name: a, file: b}]", "[{name: a, file: b, scope: all}]",
        "[127.0.0.1:80, {address: 127.0.0.1:81, http2: false}]", "[{unix: a, mode: 0660}]", "[{unix: a, mode: 9}]",
        "{unix: a}", "[{address: 127.0.0.1:81, proxy-protocol: on, x: 1}]",
        "[{address: 127.0.0.1:81, tls: {certificates: [{name: a, chain: b, key: c}], min: 1.3, alpn: [h2, http/1.1], client: {ca: d, certificate: optional}}}]",
        "[{address: 127.0.0.1:81, tls: {certificates: []}}]", "[{address: 127.0.0.1:81, tls: {min: 1.2}}]",
        "[{address: 127.0.0.1:81, tls: {certificates: [{name: a, chain: b, key: c}], alpn: http/1.1}}]",
        "{certificates: [{name: a, chain: b, key: c}], min: 1.3}", "{certificates: []}",
        "{certificates: [{name: a, chain: b, key: c}], alpn: [http/1.1]}", "{scheme: http}", "{scheme: ftp}",
        "{scheme: https, cookie: {a: [b]}, field: X-A, query: [c]}", "{status: 404}", "{status: 99}", "{body: a}",
        "{status: 301, location: \"/a{path}\"}", "{status: 410, body: a, content-type: text/html}",
        "{status: 404, x: a}", "{offline: a.html}", "{offline: a.html, error: b.html}", "{offline: [a]}",
        "{rate: 50/s, burst: 200, by: prefix}", "{rate: 5}", "{rate: 5/m, by: city}", "{burst: 5}",
        "{requests: {rate: 10/m}}", "{requests: off}", "{requests: 5}", "{allow: [10.0.0.0/8], deny: 127.0.0.1}",
        "{allow: []}", "listed", "round-robin",
    ]

    /// A value that the reader accepts and the shape does not would be marked by editors, although
    /// it is right.
    @Test(arguments: known)
    func shapeAcceptsWhatItsReaderAccepts(_ setting: Known) throws {
        var accepted = 0
        for text in Self.values {
            let value = try Self.value(text)
            guard setting.accepts(value) else { continue }
            accepted += 1
            #expect(setting.shape.accepts(value), "\(setting.name): \(text)")
        }
        #expect(accepted > 0, "No value is for \(setting.name), so nothing was compared. Add one.")
    }

    /// Most wrong values are also rejected by the shape: kinds, words and units.
    @Test func shapesRejectWrongKinds() throws {
        for setting in Self.known {
            var (rejected, missed) = (0, 0)
            for text in Self.values {
                let value = try Self.value(text)
                if setting.accepts(value) { continue }
                if setting.shape.accepts(value) { missed += 1 } else { rejected += 1 }
            }
            #expect(
                rejected > 0 && (rejected > missed || setting.shape.hasText),
                "\(setting.name): \(rejected), \(missed)"
            )
        }
    }

    @Test(arguments: known)
    func everyWordIsAcceptedByTheReader(_ setting: Known) throws {
        for word in setting.shape.words {
            let text = FileValue.text(word, isPlain: true, line: 1)
            #expect(setting.accepts(text) || setting.accepts(.list([text], line: 1)), "\(setting.name): \(word)")
        }
    }

    @Test func everySettingHasADescription() {
        for setting in Self.known {
            #expect(SettingDescriptions.texts[setting.name]?.isEmpty == false, "\(setting.name)")
        }
        for name in ["version", "include"] { #expect(SettingDescriptions.texts[name] != nil) }
    }

    // MARK: The schema

    @Test func schemaContainsEverySetting() throws {
        guard case .object(let schema) = Configuration.schemaValue, case .object(let top)? = schema["properties"] else {
            Issue.record("The schema is not an object.")
            return
        }
        #expect(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema")
        #expect(schema["additionalProperties"] == .flag(false) && schema["required"] == ["version"])
        func properties(_ value: JSONValue?, _ path: String...) -> [String: JSONValue] {
            var value = value
            for key in path {
                guard case .object(let members)? = value else { return [:] }
                value = members[key]
            }
            guard case .object(let members)? = value else { return [:] }
            return members
        }
        for setting in TopSetting.all {
            let parts = setting.name.split(separator: ".", maxSplits: 1).map(String.init)
            let found = parts.count == 2 ? properties(top[parts[0]], "properties")[parts[1]] : top[setting.name]
            #expect(found != nil && top[setting.name] != nil, "\(setting.name)")
        }
        let rule = properties(top["rules"], "items", "properties")
        for setting in Setting.all {
            let parts = setting.name.split(separator: ".", maxSplits: 1).map(String.init)
            #expect((parts.count == 2 ? properties(rule[parts[0]], "properties")[parts[1]] : rule[setting.name]) != nil)
        }
        #expect(Set(properties(rule["match"], "properties").keys) == Set(Rule.Match.settings.map(\.name)))
        guard case .list(let routes)? = properties(top["routes"], "items")["anyOf"] else {
            Issue.record("The schema has only one kind of routes.")
            return
        }
        #expect(
            routes.map { Set(properties($0, "properties").keys) } == [
                Set(Configuration.Route.settings.map(\.name)), Set(Configuration.FixedRoute.settings.map(\.name)),
            ]
        )
        #expect(
            Set(properties(top["origins"], "additionalProperties", "properties").keys)
                == Set(OriginReader.settings.map(\.name))
        )
    }

    @Test func schemaIsTheSameEveryTime() throws {
        let schema = try Configuration.schema()
        for _ in 0..<5 { #expect(try Configuration.schema() == schema) }
        #expect(schema.contains("\"description\" : \"The maximum size on disk."))
    }

    /// The patterns of units and the readers of units agree.
    @Test(arguments: [
        "5 m", "5m", "5  m", "1.5 h", "0 s", "5 M", "5", "m", "-5 s", ".5 s", "5. s", "1.2.3 s", "5 ms", "5 min",
        "5 s ", " 5 s", "5\tm",
    ])
    func patternOfDurationsIsRight(_ text: String) throws {
        let pattern = try Regex(Quantity.durationPattern)
        #expect((text.wholeMatch(of: pattern) != nil) == ((try? Quantity.duration(text)) != nil))
    }

    @Test(arguments: ["5 B", "5MiB", "1.5 GiB", "5 KB", "5 kB", "5 TiB", "5 PiB", "5", "-5 B", "5 mib"])
    func patternOfSizesIsRight(_ text: String) throws {
        let pattern = try Regex(Quantity.sizePattern)
        #expect((text.wholeMatch(of: pattern) != nil) == ((try? Quantity.size(text)) != nil))
    }
}

extension Shape {
    /// Whether a value has the shape. This is the test's own reading of shapes, independent of the
    /// JSON Schema.
    fileprivate func accepts(_ value: FileValue) -> Bool {
        switch (self, value) {
        case (.flag, .text): (try? value.flag()) != nil
        case (.off, .text): value.isOff
        case (.integer(let range), .text): (try? value.integer(range)) != nil
        case (.share, .text): (try? value.share()) != nil
        case (.duration, .text(let text, _, _)): (try? Quantity.duration(text)) != nil
        case (.size, .text(let text, _, _)): (try? Quantity.size(text)) != nil
        case (.permissions, .text(let text, _, _)): text.count >= 3 && text.count <= 4 && Int(text, radix: 8) != nil
        case (.text, .text(let text, _, _)): !text.isEmpty
        case (.word(let words), .text(let text, _, _)): words.contains(text)
        case (.list(let item), .list(let values, _)): !values.isEmpty && values.allSatisfy(item.accepts)
        case (.list(let item), _): item.accepts(value)
        case (.sequence(let item, let limit), .list(let values, _)):
            !values.isEmpty && values.count <= limit ?? .max && values.allSatisfy(item.accepts)
        case (.anyNumber(let item), .list(let values, _)): values.allSatisfy(item.accepts)
        case (.mapping(let members), .mapping(let entries, _)):
            entries.allSatisfy { entry in members.contains { $0.name == entry.key && $0.shape.accepts(entry.value) } }
                && members.allSatisfy { member in !member.isRequired || entries.contains { $0.key == member.name } }
        case (.table(let shape), .mapping(let entries, _)): entries.allSatisfy { shape.accepts($0.value) }
        case (.secret, .mapping(let entries, _)):
            entries.count == 1 && ["env", "file"].contains(entries[0].key) && Shape.text.accepts(entries[0].value)
        case (.fields, .mapping(let entries, _)):
            !entries.isEmpty && entries.allSatisfy { Shape.either([.text, .secret]).accepts($0.value) }
        case (.either(let shapes), _): shapes.contains { $0.accepts(value) }
        default: false
        }
    }

    /// All words of the shape, except those in mappings.
    fileprivate var words: [String] {
        switch self {
        case .word(let words): words
        case .list(let item): item.words
        case .either(let shapes): shapes.flatMap(\.words)
        default: []
        }
    }

    /// Whether any text has the shape.
    fileprivate var hasText: Bool {
        switch self {
        case .text: true
        case .list(let item): item.hasText
        case .either(let shapes): shapes.contains(where: \.hasText)
        default: false
        }
    }
}
