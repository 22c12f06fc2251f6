package import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension RequestRestriction.Conditions {
    /// The settings that cannot be used, with a message for each.
    package var faults: [(setting: String, message: String)] {
        var faults: [(setting: String, message: String)] = []
        for name in cookies.keys.sorted() where !CookieNames.isPattern(name) {
            let message =
                "\(shown(name)) is not a cookie name, or the beginning of one followed by a star.\(Self.advice(on: name))"
            faults.append(("match.cookie", message))
        }
        // A URL has the first '=' of a parameter after its name.
        for name in query.keys.sorted() where name.contains("=") {
            faults.append(("match.query", "\(shown(name)) is not a parameter name.\(Self.advice(on: name))"))
        }
        for (field, values) in fields.sorted(by: { $0.key.rawName < $1.key.rawName }) where !values.isEmpty {
            guard
                CredentialPartition.isCredential(HTTPField(name: field, value: ""))
                    || SettableFields.isSecretByName(field)
            else { continue }
            let message =
                "'\(field.rawName)' holds a secret, so its value must not be in this file. Write its name alone."
            faults.append(("match.field", message))
        }
        return faults
    }

    /// Returns how to write a value that was written after its name, after a space; empty for other
    /// text.
    private static func advice(on name: String) -> String {
        guard let equals = name.firstIndex(of: "="), equals > name.startIndex else { return "" }
        let value = name[name.index(after: equals)...]
        return " For a name with a value, write \(shown("{\(name[..<equals]): [\"\(value)\"]}"))."
    }
}
