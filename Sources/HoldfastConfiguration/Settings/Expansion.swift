import CacheRules
import HTTPCacheSemantics

/// Expands references to environment variables, `${NAME}`, in the scalars of a file. `$${` is the
/// text `${`.
///
/// A document is expanded after it was parsed, so a value can never change the structure of the
/// file. The length of all expanded text is limited, because a short file can repeat a long value.
struct Expansion {
    /// The maximum length of all expanded scalars of a configuration, in bytes.
    static let maximumLength = 16 << 20

    private let environment: [String: String]
    private var length = 0
    /// The expanded texts, so that messages can show references instead of values.
    private(set) var references = References()
    /// The texts that a variable without a value makes empty, or a segment of them, in the order of
    /// expansion.
    private(set) var emptied: [EmptiedText] = []
    /// The maximum number of texts in ``emptied``.
    private static let emptiedLimit = 100

    init(environment: [String: String]) { self.environment = environment }

    /// Returns the value with its references replaced. Keys are not expanded.
    mutating func expand(_ value: FileValue) throws(Refusal) -> FileValue {
        switch value {
        case .text(let text, _, let line):
            guard Self.isAffected(text) else { return value }
            let expanded: String
            do throws(Refusal) {
                expanded = try expand(text, line)
            } catch {
                throw Refusal(error.message, line: line)
            }
            // A plain empty scalar would mean that there is no value.
            return .text(expanded, isPlain: false, line: line)
        case .list(let values, let line):
            var result: [FileValue] = []
            for value in values { result.append(try expand(value)) }
            return .list(result, line: line)
        case .mapping(let entries, let line):
            var result: [FileValue.Entry] = []
            for entry in entries {
                result.append(FileValue.Entry(key: entry.key, line: entry.line, value: try expand(entry.value)))
            }
            return .mapping(result, line: line)
        }
    }

    private mutating func expand(_ text: String, _ line: Int) throws(Refusal) -> String {
        var result = ""
        // A text without the value of a variable hides nothing, and may be as short as '/'.
        var hasValue = false
        var segments = SegmentScan()
        for part in try Self.parts(of: text) {
            switch part {
            case .text(let text):
                segments.add(text)
                result += text
            case .variable(let name):
                guard let value = environment[name] else {
                    throw Refusal.unset(variable: name, "Set it, or write '$${\(name)}' for the text '${\(name)}'.")
                }
                references.add(variable: name, value)
                segments.add(variable: name, value)
                if !value.isEmpty { hasValue = true }
                result += value
            }
            guard length + result.utf8.count <= Self.maximumLength else {
                throw Refusal(
                    "The values of variables are too long. The limit for the whole configuration is \(Self.maximumLength) bytes."
                )
            }
        }
        length += result.utf8.count
        if hasValue { references.add(text: text, result) }
        segments.end()
        if let variable = segments.variable, emptied.count < Self.emptiedLimit {
            emptied.append(EmptiedText(text: text, variable: variable, isWhole: result.isEmpty, line: line))
        }
        return result
    }

    /// A part of a text.
    enum Part: Hashable {
        case text(String)
        /// The name of a variable.
        case variable(String)
    }

    /// Returns whether expansion changes a text, or rejects it.
    static func isAffected(_ text: String) -> Bool {
        var before: UInt8 = 0
        for byte in text.utf8 {
            if before == UInt8(ascii: "$"), byte == UInt8(ascii: "{") { return true }
            before = byte
        }
        return false
    }

    /// Returns the parts of a text. The leftmost `$${` or `${` counts: `$$${A}` is `$`, then `${A}`
    /// as text.
    static func parts(of text: String) throws(Refusal) -> [Part] {
        let bytes = Array(text.utf8)
        let (opening, escaped) = (Array("${".utf8), Array("$${".utf8))
        var parts: [Part] = []
        var literal: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index...].starts(with: escaped) {
                literal += opening
                index += 3
            } else if bytes[index...].starts(with: opening) {
                let name = bytes[(index + 2)...].prefix(while: isVariableByte)
                let end = index + 2 + name.count
                guard let first = name.first, !first.isDigit, end < bytes.count, bytes[end] == UInt8(ascii: "}") else {
                    throw Refusal(
                        "\(shown(text)) has '${' without a variable's name and '}'. Write '${NAME}', or '$${' for the text '${'."
                    )
                }
                if !literal.isEmpty { parts.append(.text(String(decoding: literal, as: UTF8.self))) }
                literal = []
                parts.append(.variable(String(decoding: name, as: UTF8.self)))
                index = end + 1
            } else {
                literal.append(bytes[index])
                index += 1
            }
        }
        if !literal.isEmpty { parts.append(.text(String(decoding: literal, as: UTF8.self))) }
        return parts
    }

    /// The first variable in a text; `nil` if there is none.
    static func firstVariable(of text: String) -> String? {
        guard let parts = try? parts(of: text) else { return nil }
        for case .variable(let name) in parts { return name }
        return nil
    }

    private static func isVariableByte(_ byte: UInt8) -> Bool { byte.isAlphanumeric || byte == UInt8(ascii: "_") }
}
