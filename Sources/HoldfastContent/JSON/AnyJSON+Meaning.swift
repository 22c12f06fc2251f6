import HTTPCacheSemantics

extension AnyJSON {
    /// Returns whether two values have the same meaning, regardless of how an API writes them. For
    /// example, `0`, `0.0` and `"0"` have the same meaning, and so do `true`, `1`, `"1"` and
    /// `"true"`.
    ///
    /// The comparison follows these rules:
    /// - A boolean is 1 or 0. The strings `true` and `false`, in any case, are booleans.
    /// - A string in the format of a JSON number (RFC 8259 §6) is that number. `"0000"` is not in
    ///   that format, so it equals only itself.
    /// - Integers are compared digit by digit.
    /// - Arrays and objects have the same meaning if they are equal.
    public func means(_ other: AnyJSON) -> Bool {
        meaning == other.meaning
    }

    /// A normalized form that is equal for all values with the same meaning.
    private var meaning: AnyJSON {
        switch self {
        case .boolean(let value): .integer(value ? 1 : 0)
        case .unsigned(let value): Int64(exactly: value).map(AnyJSON.integer) ?? self
        case .number(let value): Self.meaning(of: value)
        case .string(let text): Self.meaning(of: text)
        case .null, .integer, .array, .object: self
        }
    }

    private static func meaning(of number: Double) -> AnyJSON {
        if let value = Int64(exactly: number) { return .integer(value) }
        return UInt64(exactly: number).map(AnyJSON.unsigned) ?? .number(number)
    }

    private static func meaning(of text: String) -> AnyJSON {
        switch text.lowercased() {
        case "true": return .integer(1)
        case "false": return .integer(0)
        default: break
        }
        guard let form = NumberForm(text) else { return .string(text) }
        if let value = Int64(text) { return .integer(value) }
        if let value = UInt64(text) { return .unsigned(value) }
        // Digits beyond 64 bits would be rounded, and would then match other numbers, too.
        guard form == .real, let value = Double(text), value.isFinite else { return .string(text) }
        return meaning(of: value)
    }
}

/// The format of a number. RFC 8259 §6
private enum NumberForm {
    case integer, real

    init?(_ text: String) {
        var rest = Substring(text).utf8
        func digits() -> Int {
            let count = rest.prefix(while: \.isDigit).count
            rest = rest.dropFirst(count)
            return count
        }
        func skip(_ characters: String) -> Bool {
            guard let first = rest.first, characters.utf8.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }
        _ = skip("-")
        let zero = rest.first == UInt8(ascii: "0")
        let count = digits()
        guard count == 1 || count > 1 && !zero else { return nil }
        self = .integer
        if skip(".") {
            guard digits() > 0 else { return nil }
            self = .real
        }
        if skip("eE") {
            _ = skip("+-")
            guard digits() > 0 else { return nil }
            self = .real
        }
        guard rest.isEmpty else { return nil }
    }
}
