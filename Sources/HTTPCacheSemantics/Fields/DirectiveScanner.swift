/// One member of a `Cache-Control` line: a name and its argument. RFC 9111 §5.2
struct Directive {
    enum Argument {
        case none
        /// A token, or a quoted-string whose escapes are still in it.
        case value(Range<Int>)
        /// Something that is neither: `max-age =5`, `max-age= 5`, `max-age=1;2`.
        case malformed
    }
    var name: Range<Int>
    var argument: Argument
}

extension ByteScanner {
    /// The next directive of the line; `nil` at its end.
    ///
    /// A member that does not begin with a token is skipped.
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
            // Only whitespace may come before the comma. RFC 9110 §5.6.6 allows none around "=".
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
    /// The directive's number; `nil` if it has no valid one.
    func deltaSeconds(in bytes: UnsafeBufferPointer<UInt8>) -> DeltaSeconds? {
        guard case .value(let range) = argument else { return nil }
        return DeltaSeconds(bytes, in: range)
    }

    /// The field names of a qualified `no-cache="…"` or `private="…"`, in lower case; `nil` for the
    /// unqualified form.
    ///
    /// An argument without a valid name is treated as unqualified, which is stricter. RFC 9111
    /// §5.2.2.4
    func fieldNames(in bytes: UnsafeBufferPointer<UInt8>) -> [String]? {
        guard case .value(let range) = argument else { return nil }
        return Self.fieldNames(in: UnsafeBufferPointer(rebasing: bytes[range]))
    }

    /// The names in lower case; `nil` if there is none, or if a member is not a field name.
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
