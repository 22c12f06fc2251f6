import Hummingbird

/// The parameters of a query or a form. Errors name the expected value.
struct Query {
    /// The decoded parameters, in order.
    let items: [(name: String, value: String)]

    init(_ request: Request) {
        self.init(request.uri.query ?? "")
    }

    /// Parses `name=value&…`, the format of a query and of a form's body.
    init(_ text: String) {
        items = text.split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : "")
        }
    }

    /// The first value of a parameter; `nil` if it is absent.
    subscript(name: String) -> String? {
        items.first { $0.name == name }?.value
    }

    func values(_ name: String) -> [String] {
        items.filter { $0.name == name }.map(\.value)
    }

    /// Returns an integer within the limits, or `standard` if the parameter is absent.
    func integer(_ name: String, default standard: Int, in limits: ClosedRange<Int>) throws -> Int {
        guard let text = self[name] else { return standard }
        guard let number = Int(text), limits.contains(number) else {
            throw OriginHTTPError.badRequest(
                "Parameter '\(name)' must be a whole number from \(limits.lowerBound) to \(limits.upperBound)."
            )
        }
        return number
    }

    /// Percent-decodes a text. Replaces bytes that are not UTF-8.
    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = hexadecimalByte(rest.prefix(2)) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hexadecimalByte(_ digits: Substring.UTF8View.SubSequence) -> UInt8? {
        guard digits.count == 2, let text = String(digits), text.allSatisfy(\.isHexDigit) else { return nil }
        return UInt8(text, radix: 16)
    }
}
