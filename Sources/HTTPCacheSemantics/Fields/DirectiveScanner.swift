/// One member of a `Cache-Control` line: a name and its argument. RFC 9111 §5.2
struct Directive {
    enum Argument {
        case none
        /// A token, or a quoted-string with its escapes.
        case value(Range<Int>)
        /// Neither a token nor a quoted-string: `max-age =5`, `max-age= 5`, `max-age=1;2`.
        case malformed
    }
    var name: Range<Int>
    var argument: Argument
}

extension ByteScanner {
    /// Returns the next directive of the line, or `nil` at its end.
    ///
    /// Members that do not begin with a token are skipped.
    mutating func nextDirective() -> Directive? {
        while true {
            skipSeparators()
            guard !isAtEnd else { return nil }
            let name = token()
            guard !name.isEmpty else {
                skipMember()
                continue
            }
            var argument = Directive.Argument.none
            if current == UInt8(ascii: "=") {
                advance()
                if current == UInt8(ascii: "\"") {
                    argument = .value(quotedString())
                } else {
                    let value = token()
                    argument = value.isEmpty ? .malformed : .value(value)
                }
            }
            // Only whitespace may precede the comma. RFC 9110 §5.6.6 allows no whitespace around
            // "=".
            skipWhitespace()
            if let byte = current, byte != UInt8(ascii: ",") {
                argument = .malformed
                skipMember()
            }
            return Directive(name: name, argument: argument)
        }
    }
}

extension Directive {
    /// Returns the directive's number, or `nil` if it has no valid number.
    func deltaSeconds(in bytes: UnsafeBufferPointer<UInt8>) -> DeltaSeconds? {
        guard case .value(let range) = argument else { return nil }
        return DeltaSeconds(bytes, in: range)
    }

    /// Returns the lower-case field names of a qualified `no-cache="…"` or `private="…"`, or `nil`
    /// for the unqualified form.
    ///
    /// An argument without a valid name counts as unqualified, which is stricter. RFC 9111 §5.2.2.4
    func fieldNames(in bytes: UnsafeBufferPointer<UInt8>) -> [String]? {
        guard case .value(let range) = argument else { return nil }
        return Self.fieldNames(in: UnsafeBufferPointer(rebasing: bytes[range]))
    }

    /// Returns the names in lower case, or `nil` if there are none or a member is not a field name.
    static func fieldNames(in bytes: UnsafeBufferPointer<UInt8>) -> [String]? {
        var scanner = ByteScanner(bytes)
        var names: [String] = []
        while true {
            scanner.skipSeparators()
            if scanner.isAtEnd { break }
            let name = scanner.token()
            guard !name.isEmpty else { return nil }
            names.append(scanner.bytes.lowercased(name))
            scanner.skipWhitespace()
            if let byte = scanner.current, byte != UInt8(ascii: ",") { return nil }
        }
        return names.isEmpty ? nil : names
    }
}
