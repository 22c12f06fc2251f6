import HTTPCacheSemantics
import HTTPTypes

/// Shows requests and responses to people without what is a secret in them: what ``Redaction``
/// knows by its name, and what a client's and an endpoint's ``Secrets`` name.
///
/// It hides rather too much than too little: names are compared without regard to case and to how
/// they are percent-encoded, and each part of a nested name (`auth[token]`) counts.
struct SecretRedaction: Sendable {
    private let parameterNames: Set<String>
    private let fieldNames: Set<HTTPField.Name>

    init(_ secrets: Secrets) {
        parameterNames = Set(secrets.parameters.map { $0.lowercased() })
        fieldNames = secrets.fields
    }

    /// The target of a request, on one line.
    func target(of head: HTTPRequest) -> String {
        let text = "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
        // It is made for every call, and most have nothing to hide.
        return text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"?#@".utf8.contains($0) } ? text : uri(text)
    }

    /// A URI, or what may be one: without user information, values of secret parameters and control
    /// characters.
    func uri(_ text: String) -> String {
        Redaction.uriText(parameters(in: text))
    }

    /// Fields with the values of secret ones replaced.
    func fields(_ fields: HTTPFields) -> HTTPFields {
        HTTPFields(
            Redaction.fields(fields).map { field in
                var field = field
                // A field that holds a URI, or a form, holds its parameters.
                field.value = fieldNames.contains(field.name) ? Redaction.placeholder : parameters(in: field.value)
                return field
            }
        )
    }

    /// Any text in which `name=value` may stand: a query, a form, a URI; values of secret names
    /// replaced.
    func parameters(in text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "=")) else { return text }
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let pair = rest.prefix { !"&;?#".utf8.contains($0) }
            rest = rest.dropFirst(pair.count)
            if let equals = pair.firstIndex(of: UInt8(ascii: "=")), pair.index(after: equals) < pair.endIndex,
                isSecret(name: pair[..<equals])
            {
                result += pair[...equals]
                result += Redaction.placeholder.utf8
            } else {
                result += pair
            }
            if let separator = rest.popFirst() { result.append(separator) }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Whether the value of a parameter of this name is a secret.
    ///
    /// - Parameter name: as it stands in a query, or a member's name in JSON.
    func isSecret(name: some Collection<UInt8>) -> Bool {
        let decoded = name.percentDecoded
        let text = String(decoding: decoded, as: UTF8.self).lowercased().trimmingSpaces
        if parameterNames.contains(text) { return true }
        if !parameterNames.isEmpty,
            text.split(whereSeparator: { "[].:".contains($0) }).contains(where: { parameterNames.contains(String($0)) })
        {
            return true
        }
        // There is one list of the names that tell of a secret, and it is asked by a query.
        let plain = String(decoding: decoded.filter { !"&;?#=%".utf8.contains($0) }, as: UTF8.self)
        return Redaction.query("\(plain)=x") != "\(plain)=x"
    }

    /// The secrets that a request carries, as they stand in it and decoded: so that they are found
    /// where no name tells of them.
    ///
    /// Short ones are left out; they would be found everywhere.
    func values(in head: HTTPRequest) -> [[UInt8]] {
        var values: [[UInt8]] = []
        for (field, shown) in zip(head.headerFields, fields(head.headerFields)) where field.value != shown.value {
            values.append(Array(field.value.utf8))
            // 'Bearer token', 'name=cookie; …'
            values += field.value.utf8.split { " ;=,\"".utf8.contains($0) }.map(Array.init)
        }
        for pair in (head.path ?? "").utf8.split(whereSeparator: { "&;?#".utf8.contains($0) }) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), isSecret(name: pair[..<equals]) else { continue }
            let value = pair[pair.index(after: equals)...]
            values += [Array(value), value.percentDecoded]
        }
        return values.filter { $0.count >= Self.shortest }.sorted { $0.count > $1.count }
    }

    private static let shortest = 6
}

extension [UInt8] {
    /// Without these sequences.
    func hiding(_ values: [[UInt8]]) -> [UInt8] {
        values.reduce(self) { $0.replacing($1, with: Array(Redaction.placeholder.utf8)) }
    }
}

extension Collection<UInt8> {
    /// With `%` and two digits as the byte that they stand for.
    fileprivate var percentDecoded: [UInt8] {
        var result: [UInt8] = []
        var rest = Array(self)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        guard first?.isWhitespace == true || last?.isWhitespace == true else { return self }
        return String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
