/// A value with parameters, as in `multipart/form-data; boundary=x` and `form-data; name="a"` (RFC
/// 9110 §5.6.6).
///
/// Parsing is strict: any deviation from the grammar and any duplicate parameter makes the value
/// invalid. Bytes above 127 are read as UTF-8 (RFC 7578 §5.1).
struct ParameterizedValue {
    /// The value in lowercase, because media types and dispositions are not case-sensitive.
    let value: String
    /// The parameters, with names in lowercase.
    let parameters: [String: String]

    init?(_ text: some Sequence<UInt8>) {
        var rest = Array(text)[...]
        Self.skipSpace(&rest)
        value = String(decoding: rest.prefix(while: { Self.isToken($0) || $0 == UInt8(ascii: "/") }), as: UTF8.self)
            .lowercased()
        rest = rest.dropFirst(value.utf8.count)
        guard !value.isEmpty else { return nil }
        var parameters: [String: String] = [:]
        while true {
            Self.skipSpace(&rest)
            guard let separator = rest.popFirst() else { break }
            guard separator == UInt8(ascii: ";") else { return nil }
            Self.skipSpace(&rest)
            let name = String(decoding: rest.prefix(while: Self.isToken), as: UTF8.self).lowercased()
            rest = rest.dropFirst(name.utf8.count)
            guard !name.isEmpty, rest.popFirst() == UInt8(ascii: "="), let value = Self.parameterValue(&rest),
                parameters.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        self.parameters = parameters
    }

    /// Parses a token or a quoted string, in which a backslash escapes the next byte.
    private static func parameterValue(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard rest.first == UInt8(ascii: "\"") else {
            let token = rest.prefix(while: isToken)
            rest = rest[token.endIndex...]
            return token.isEmpty ? nil : String(decoding: token, as: UTF8.self)
        }
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                return String(validating: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                bytes.append(escaped)
            case 0..<32 where byte != 9, 127:
                return nil
            default:
                bytes.append(byte)
            }
        }
        return nil
    }

    private static func skipSpace(_ rest: inout ArraySlice<UInt8>) {
        rest = rest.drop { $0 == 32 || $0 == 9 }
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            Array("!#$%&'*+-.^_`|~".utf8).contains(byte)
        }
    }
}
