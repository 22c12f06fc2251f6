import HTTPCache
import HTTPCacheSemantics

extension SecretRedaction {
    /// Replaces the values of secret names in JSON, including whole objects and arrays. Everything
    /// else is unchanged.
    ///
    /// The text may be truncated, and need not be JSON.
    func json(_ bytes: [UInt8]) -> [UInt8] {
        var scanner = JSONScanner(rest: bytes[...])
        var result: [UInt8] = []
        while let byte = scanner.rest.first {
            guard byte == UInt8(ascii: "\"") else {
                result.append(byte)
                scanner.rest = scanner.rest.dropFirst()
                continue
            }
            let name = scanner.string()
            result += name
            result += scanner.space()
            guard scanner.rest.first == UInt8(ascii: ":") else { continue }
            scanner.rest = scanner.rest.dropFirst()
            result.append(UInt8(ascii: ":"))
            result += scanner.space()
            guard isSecret(name: JSONScanner.unescaped(name)) else { continue }
            scanner.skipValue()
            result += "\"\(Redaction.placeholder)\"".utf8
        }
        return result
    }
}

/// Finds the ends of strings and values in JSON. RFC 8259
private struct JSONScanner {
    var rest: ArraySlice<UInt8>

    /// Reads a string with its quotation marks, or the part of it that is available.
    mutating func string() -> ArraySlice<UInt8> {
        let start = rest.startIndex
        var index = start + 1
        while index < rest.endIndex, rest[index] != UInt8(ascii: "\"") {
            index += rest[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        index = min(index + 1, rest.endIndex)
        defer { rest = rest[index...] }
        return rest[start..<index]
    }

    mutating func space() -> ArraySlice<UInt8> {
        let space = rest.prefix { " \t\r\n".utf8.contains($0) }
        rest = rest.dropFirst(space.count)
        return space
    }

    mutating func skipValue() {
        var depth = 0
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "\""):
                _ = string()
                if depth == 0 { return }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // This is the end of the object or array around the value.
                if depth == 0 { return }
                depth -= 1
                if depth == 0 {
                    rest = rest.dropFirst()
                    return
                }
            case UInt8(ascii: ",") where depth == 0: return
            default: break
            }
            rest = rest.dropFirst()
        }
    }

    /// Returns a string's content without escapes, because a name may contain escapes.
    static func unescaped(_ string: ArraySlice<UInt8>) -> [UInt8] {
        var rest = string.dropFirst()
        if rest.last == UInt8(ascii: "\"") { rest = rest.dropLast() }
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            if escaped == UInt8(ascii: "u"), rest.count >= 4,
                let value = UInt32(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16),
                let scalar = Unicode.Scalar(value)
            {
                bytes += String(Character(scalar)).utf8
                rest = rest.dropFirst(4)
            } else {
                bytes.append(escaped)
            }
        }
        return bytes
    }
}
