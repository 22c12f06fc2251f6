import CacheRules
import HTTPCacheSemantics

/// The JSON Schema of a shape.
///
/// Editors read YAML as 1.1 or 1.2, so `off` and `1.2` may be text or not. A schema therefore
/// accepts each value in every type that an editor may see.
extension Shape {
    /// The definitions that schemas refer to.
    static let definitions: [String: JSONValue] = [
        "reference": ["type": "string", "pattern": #"\$\{[A-Za-z_][A-Za-z0-9_]*\}"#],
        "flag": anyOf([["type": "boolean"], pattern("^(\(anyCase(["true", "false", "on", "off", "yes", "no"])))$")]),
        "off": anyOf([["const": .flag(false)], pattern("^(\(anyCase(["off", "no", "false"])))$")], isExpanded: false),
        "share": anyOf([
            ["type": "number", "minimum": .integer(0), "maximum": .integer(1)],
            pattern(#"^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$"#),
        ]),
        "duration": anyOf([pattern(Quantity.durationPattern)]),
        "size": anyOf([pattern(Quantity.sizePattern)]),
        "permissions": anyOf([
            ["type": "integer", "minimum": .integer(0), "maximum": .integer(777)], pattern("^[0-7]{3,4}$"),
        ]),
        "text": ["type": ["string", "number", "boolean"]],
        "secret": [
            "oneOf": [
                source("env"), source("file"),
            ]
        ],
    ]

    var schema: JSONValue {
        switch self {
        case .flag: Self.reference(to: "flag")
        case .off: Self.reference(to: "off")
        case .integer(let range):
            Self.anyOf([
                ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)],
                Self.pattern("^[+-]?[0-9]+$"),
            ])
        case .share: Self.reference(to: "share")
        case .duration: Self.reference(to: "duration")
        case .size: Self.reference(to: "size")
        case .permissions: Self.reference(to: "permissions")
        case .text: Self.reference(to: "text")
        case .word(let words): Self.anyOf([["enum": .list(words.flatMap(Self.spellings))]])
        case .list(let item):
            Self.anyOf([item.schema, Self.array(item, ["minItems": .integer(1)])], isExpanded: false)
        case .sequence(let item, nil): Self.array(item, ["minItems": .integer(1)])
        case .sequence(let item, let limit?):
            Self.array(item, ["minItems": .integer(1), "maxItems": .integer(limit)])
        case .anyNumber(let item): Self.array(item, [:])
        case .mapping(let members): Self.object(members)
        case .table(let value): ["type": "object", "additionalProperties": value.schema]
        case .secret: Self.reference(to: "secret")
        case .fields:
            [
                "type": "object", "minProperties": .integer(1),
                "additionalProperties": Self.anyOf(
                    [Self.reference(to: "text"), Self.reference(to: "secret")],
                    isExpanded: false
                ),
            ]
        case .either(let shapes): Self.anyOf(shapes.map(\.schema), isExpanded: false)
        }
    }

    /// The schema of a mapping with these keys and no others.
    static func object(_ members: [Member]) -> JSONValue {
        var properties: [String: JSONValue] = [:]
        for member in members { properties[member.name] = described(member.shape.schema, member.description) }
        let required = members.filter(\.isRequired).map { JSONValue.text($0.name) }
        var result: [String: JSONValue] = [
            "type": "object", "properties": .object(properties), "additionalProperties": .flag(false),
        ]
        if !required.isEmpty { result["required"] = .list(required) }
        return .object(result)
    }

    /// Adds the description of a setting.
    private static func described(_ schema: JSONValue, _ key: String) -> JSONValue {
        guard let text = SettingDescriptions.texts[key], case .object(var members) = schema else { return schema }
        members["description"] = .text(text)
        return .object(members)
    }

    private static func reference(to definition: String) -> JSONValue { ["$ref": .text("#/$defs/\(definition)")] }

    private static func pattern(_ pattern: String) -> JSONValue { ["type": "string", "pattern": .text(pattern)] }

    /// Text that matches a pattern may also have references to variables.
    private static func anyOf(_ schemas: [JSONValue], isExpanded: Bool = true) -> JSONValue {
        ["anyOf": .list(schemas + (isExpanded ? [reference(to: "reference")] : []))]
    }

    private static func array(_ item: Shape, _ limits: [String: JSONValue]) -> JSONValue {
        .object(limits.merging(["type": "array", "items": item.schema]) { $1 })
    }

    /// The name of a variable or the path of a file. A reference may be in the path only.
    private static func source(_ key: String) -> JSONValue {
        [
            "type": "object", "properties": .object([key: reference(to: "text")]), "required": [.text(key)],
            "additionalProperties": .flag(false),
        ]
    }

    /// A word as text, and as the number or boolean that YAML may make of it.
    private static func spellings(of word: String) -> [JSONValue] {
        if let number = Double(word) { return [.text(word), .number(number)] }
        return ["off", "no"].contains(word) ? [.text(word), .flag(false)] : [.text(word)]
    }

    /// A pattern that matches words in any case. JSON Schema has no option for it.
    private static func anyCase(_ words: [String]) -> String {
        words.map { word in word.map { "[\($0.uppercased())\($0)]" }.joined() }.joined(separator: "|")
    }
}

extension Quantity {
    static let durationPattern = pattern(of: durationUnits.map(\.name))
    static let sizePattern = pattern(of: sizeUnits.map(\.name))

    private static func pattern(of units: [String]) -> String {
        #"^[0-9]+(\.[0-9]+)? *("# + units.joined(separator: "|") + ")$"
    }
}
