import CacheRules
import HTTPCacheSemantics
import HTTPTypes
import LocalFiles

extension FileValue {
    /// Whether a scalar of the value has a reference to a variable, or an escaped one.
    var hasReferences: Bool {
        switch self {
        case .text(let text, _, _): Expansion.isAffected(text)
        case .list(let values, _): values.contains(where: \.hasReferences)
        case .mapping(let entries, _): entries.contains { $0.value.hasReferences }
        }
    }

    /// The value on one line, before expansion, without secrets in URLs.
    var written: String {
        switch self {
        case .text(let text, _, _): Redaction.uriText(text)
        case .list(let values, _): "[\(values.map(\.writtenInList).joined(separator: ", "))]"
        case .mapping(let entries, _):
            "{\(entries.map { "\(Redaction.uriText($0.key)): \($0.value.written)" }.joined(separator: ", "))}"
        }
    }

    private var writtenInList: String { if case .text = self { Writers.item(written) } else { written } }
}

extension Shape {
    /// Rejects references to variables in secrets. An expanded value is part of the configuration,
    /// and `{env: NAME}` keeps it out.
    func rejectSecrets(in value: FileValue) throws(Refusal) {
        switch (self, value) {
        case (.secret, _): try Self.rejectReference(in: value)
        case (.fields, .mapping(let fields, _)):
            for field in fields {
                if let name = HTTPField.Name(field.key), SettableFields.isSecretByName(name) {
                    try Self.rejectReference(in: field.value)
                } else if case .mapping = field.value {
                    try Self.rejectReference(in: field.value)
                }
            }
        default: break
        }
    }

    /// The path of a file with a secret is not secret.
    private static func rejectReference(in value: FileValue) throws(Refusal) {
        switch value {
        case .text(let text, _, let line) where Expansion.isAffected(text):
            let named = Expansion.firstVariable(of: text) ?? "NAME"
            let variable = MisplacedSecret.mayBeSecret(named) ? "NAME" : named
            throw Refusal(
                "A secret must not be expanded into the configuration. Write '{env: \(variable)}', with the whole value in the variable.",
                line: line
            )
        case .text: break
        case .list(let values, _): for value in values { try rejectReference(in: value) }
        case .mapping(let entries, _):
            for entry in entries where entry.key != "file" { try rejectReference(in: entry.value) }
        }
    }
}
