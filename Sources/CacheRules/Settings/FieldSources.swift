import Foundation
import HTTPTypes
import LocalFiles

/// Looks up field values that are not in the rules themselves, in the environment and in files.
package struct FieldSources {
    /// The values by source. They are secret, so they are used only in fields that are sent.
    package typealias Values = [FieldValue: String]

    var environment: [String: String]
    /// The folder to which file paths are relative; `nil` is the current folder.
    var folder: String?
    /// Whether to look up values. `false` is for tools that send no requests: no value can be
    /// missing, and ``placeholder`` replaces each value.
    var looksUp: Bool
    /// The values in use, by source. A source that cannot be used keeps its value.
    var previous: Values

    package init(
        environment: [String: String],
        folder: String? = nil,
        looksUp: Bool = true,
        previous: Values = [:]
    ) {
        self.environment = environment
        self.folder = folder
        self.looksUp = looksUp
        self.previous = previous
    }

    static let placeholder = "not-looked-up"

    /// The maximum length of a value, in bytes. The value must fit into a message's head.
    package static let longest = 16 << 10

    /// Returns the value after checking it. No error message contains the value.
    package func value(of source: FieldValue) throws(Refusal) -> String {
        let value: String
        let place: String
        switch source {
        case .literal(let text):
            value = text
            place = "The value"
        case .environment where !looksUp, .file where !looksUp: return Self.placeholder
        case .environment(let name):
            guard let found = environment[name] else {
                throw Refusal.unset(variable: name, "Set it, or write '{file: PATH}'.")
            }
            value = found
            place = "The value of the variable \(shown(name))"
        case .file(let path):
            value = try content(of: path)
            place = "The content of the file \(shown(path: self.place(of: path)))"
        }
        guard !value.isEmpty else { throw Refusal("\(place) is empty.") }
        guard value.utf8.count <= Self.longest else {
            throw Refusal("\(place) is too long. The limit is \(Self.longest) bytes.")
        }
        guard !value.utf8.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) else {
            throw Refusal(
                "\(place) has a line break, so it cannot be sent in a field. Write the value on one line, and nothing else."
            )
        }
        guard HTTPField.isValidValue(value), value.utf8.first != 0x20, value.utf8.last != 0x20 else {
            throw Refusal(
                "\(place) cannot be sent in a field, because it contains a control character, or begins or ends with a space."
            )
        }
        return value
    }

    /// Returns the path that is opened, which messages show.
    private func place(of path: String) -> String {
        guard !path.hasPrefix("/"), let folder, folder != "." else { return path }
        return "\(folder)/\(path)"
    }

    private func content(of path: String) throws(Refusal) -> String {
        let place = place(of: path)
        var bytes: [UInt8]
        do throws(LocalFile.Refusal) {
            bytes = try LocalFile.read(place, limit: Self.longest + 2, isSecret: true)
        } catch {
            let advice = path.hasPrefix("~") ? " '~' is not expanded. Write the whole path." : ""
            throw Refusal("The file \(shown(path: error.path)) \(error.message)\(advice)")
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Refusal("The content of the file \(shown(path: place)) is not UTF-8.")
        }
        return text
    }
}

extension Refusal {
    /// Returns the refusal of a variable that the environment does not have. Text that may be the
    /// secret itself is not shown.
    ///
    /// - Parameter advice: the next step if it is a name.
    package static func unset(variable name: String, _ advice: String) -> Refusal {
        guard MisplacedSecret.mayBeSecret(name) else {
            return Refusal("The environment has no variable \(shown(name)). \(advice)")
        }
        return Refusal(
            "The environment has no such variable. Its name is not shown, because it looks like the secret itself. Write the name of a variable that contains the secret."
        )
    }
}
