import CacheRules
import Foundation

extension Configuration {
    /// The JSON Schema of configuration files, as text. It is made from the tables that read files:
    /// ``TopSetting/all``, ``Setting/all``, and the settings of routes, origins and conditions.
    ///
    /// https://json-schema.org/draft/2020-12
    package static func schema() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(schemaValue), as: UTF8.self)
    }

    static var schemaValue: JSONValue {
        guard case .object(var schema) = Shape.object(members) else { return [:] }
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = "Holdfast configuration"
        schema["$defs"] = .object(Shape.definitions)
        return .object(schema)
    }

    private static var members: [Shape.Member] {
        var members = [
            Shape.Member("version", .integer(version...version), isRequired: true, describedBy: "version"),
            Shape.Member(SourceFiles.key, .list(.text), describedBy: SourceFiles.key),
            Shape.Member(
                "routes",
                .anyNumber(.either([parts(Route.settings, "route"), parts(FixedRoute.settings, "route")])),
                describedBy: "routes"
            ),
            Shape.Member("origins", .table(parts(OriginReader.settings, "origin")), describedBy: "origins"),
            Shape.Member("rules", .anyNumber(.mapping(ruleMembers)), describedBy: "rules"),
        ]
        members += grouped(TopSetting.all.map { ($0.name, $0.shape) }, describedBy: "")
        return members
    }

    private static var ruleMembers: [Shape.Member] {
        [Shape.Member("name", .text), Shape.Member("match", parts(Rule.Match.settings, "match"))]
            + grouped(Setting.all.map { ($0.name, $0.shape) }, describedBy: "rule.")
    }

    private static func parts<Part>(_ settings: [PartSetting<Part>], _ prefix: String) -> Shape {
        .mapping(
            settings.map { .init($0.name, $0.shape, isRequired: $0.isRequired, describedBy: "\(prefix).\($0.name)") }
        )
    }

    /// Returns the settings by their groups, and each also by its full name, `store.budget`, which
    /// a file may contain, too.
    private static func grouped(
        _ settings: [(name: String, shape: Shape)],
        describedBy prefix: String
    ) -> [Shape.Member] {
        var members: [Shape.Member] = []
        var groups: [String: [Shape.Member]] = [:]
        for setting in settings {
            members.append(.init(setting.name, setting.shape, describedBy: prefix + setting.name))
            let parts = setting.name.split(separator: ".", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { continue }
            groups[parts[0], default: []].append(
                .init(parts[1], setting.shape, describedBy: prefix + setting.name)
            )
        }
        return members + groups.map { .init($0.key, .mapping($0.value), describedBy: prefix + $0.key) }
    }
}
