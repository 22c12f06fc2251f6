import HTTPCacheSemantics
import HTTPTypes

/// Removes secrets from requests and responses that are shown to people. Secrets are the values
/// that ``Redaction`` recognizes by name, and the values named in the ``Secrets`` of the client,
/// the endpoint and the plugins.
///
/// When in doubt, it redacts. Names are compared without regard to case or percent-encoding, and
/// each part of a nested name (`auth[token]`) is also compared.
struct SecretRedaction: Sendable {
    private let parameterNames: Set<String>
    private let fieldNames: Set<HTTPField.Name>

    init(_ secrets: Secrets) {
        parameterNames = Set(secrets.parameters.map { $0.lowercased() })
        fieldNames = secrets.fields
    }

    /// Returns the target of a request, on one line.
    func target(of head: HTTPRequest) -> String {
        let text = "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
        // This runs for every call, and most calls have nothing to redact.
        return text.utf8.allSatisfy { $0.isVisible && !"?#@".utf8.contains($0) } ? text : uri(text)
    }

    /// Returns a URI, or text that may be a URI, without user information, values of secret
    /// parameters and control characters.
    func uri(_ text: String) -> String {
        Redaction.uriText(parameters(in: text))
    }

    /// Returns the fields with the values of secret fields replaced.
    func fields(_ fields: HTTPFields) -> HTTPFields {
        HTTPFields(
            Redaction.fields(fields).map { field in
                var field = field
                // A field may contain a URI or a form with parameters.
                field.value = fieldNames.contains(field.name) ? Redaction.placeholder : parameters(in: field.value)
                return field
            }
        )
    }

    /// Replaces the values of secret names in text that may contain `name=value` pairs, such as a
    /// query, a form or a URI.
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

    /// Returns whether the value of a parameter with this name is a secret.
    ///
    /// - Parameter name: a name as written in a query, or the name of a JSON member.
    func isSecret(name: some Collection<UInt8>) -> Bool {
        let decoded = name.percentDecoded
        let text = String(decoding: decoded, as: UTF8.self).lowercased().trimmingSpaces
        if parameterNames.contains(text) { return true }
        if !parameterNames.isEmpty,
            text.split(whereSeparator: { "[].:".contains($0) }).contains(where: { parameterNames.contains(String($0)) })
        {
            return true
        }
        // The only list of names that suggest a secret is behind ``Redaction``, which expects a
        // query.
        let plain = String(decoding: decoded.filter { !"&;?#=%".utf8.contains($0) }, as: UTF8.self)
        return Redaction.query("\(plain)=x") != "\(plain)=x"
    }

    /// Returns the secrets of a request, both as written and decoded, so that they can also be
    /// found where no name identifies them.
    ///
    /// Short secrets are omitted, because they would match everywhere.
    func values(in head: HTTPRequest) -> [[UInt8]] {
        var values: [[UInt8]] = []
        for (field, shown) in zip(head.headerFields, fields(head.headerFields)) where field.value != shown.value {
            values.append(Array(field.value.utf8))
            // Examples: `Bearer token` and `name=cookie; …`.
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
    /// Returns the bytes with each of these sequences replaced.
    func hiding(_ values: [[UInt8]]) -> [UInt8] {
        values.reduce(self) { $0.replacing($1, with: Array(Redaction.placeholder.utf8)) }
    }
}

extension Collection<UInt8> {
    /// The bytes with each percent-encoded byte decoded.
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
