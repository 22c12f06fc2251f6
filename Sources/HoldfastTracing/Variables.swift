/// Reads environment variables.
struct Variables {
    typealias Refusal = TracingConfiguration.Refusal

    private let environment: [String: String]

    init(_ environment: [String: String]) { self.environment = environment }

    /// `nil` if it is not set. OpenTelemetry treats an empty variable as not set.
    subscript(name: String) -> String? {
        guard let value = environment[name], !value.isEmpty else { return nil }
        return value
    }

    private func refusal(_ name: String, _ value: String, takes allowed: String) -> Refusal {
        Refusal(description: "'\(name)' in the environment takes \(allowed), not '\(value)'.")
    }

    func bool(_ name: String) throws(Refusal) -> Bool {
        guard let value = self[name] else { return false }
        switch value.lowercased() {
        case "true": return true
        case "false": return false
        default: throw refusal(name, value, takes: "'true' or 'false'")
        }
    }

    func choice(_ name: String, _ allowed: [String]) throws(Refusal) -> String? {
        guard let value = self[name] else { return nil }
        guard allowed.contains(value) else {
            let list = allowed.count == 1 ? "'\(allowed[0])' alone" : "one of \(allowed.joined(separator: ", "))"
            throw refusal(name, value, takes: list)
        }
        return value
    }

    func number(_ name: String, _ range: ClosedRange<Int>, or standard: Int) throws(Refusal) -> Int {
        guard let value = self[name] else { return standard }
        guard let number = Int(value), range.contains(number) else {
            throw refusal(name, value, takes: "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func ratio(_ name: String) throws(Refusal) -> Double {
        guard let value = self[name] else { return 1 }
        guard let ratio = Double(value), (0...1).contains(ratio) else {
            throw refusal(name, value, takes: "a number from 0 to 1")
        }
        return ratio
    }

    /// Pairs as in `baggage`: `name=value,name=value`, with percent escapes in the values.
    ///
    /// - Parameter areFields: names and values must be those of fields.
    /// - Throws: a refusal that does not show the value, which may have secrets.
    func pairs(_ name: String, areFields: Bool) throws(Refusal) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for part in (self[name] ?? "").split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, let key = Self.decoded(sides[0]), let value = Self.decoded(sides[1]), !key.isEmpty,
                !areFields || key.utf8.allSatisfy(Self.isTokenByte) && value.utf8.allSatisfy(Self.isFieldByte)
            else {
                throw Refusal(
                    description:
                        "'\(name)' in the environment takes pairs 'name=value' with commas between them, and percent escapes "
                        + "for other bytes. Its pair \(pairs.count + 1) is none (values are not shown)."
                )
            }
            pairs.append((key, value))
        }
        return pairs
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while rest.first == 0x20 { rest = rest.dropFirst() }
        while rest.last == 0x20 { rest = rest.dropLast() }
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(decoded)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static func isFieldByte(_ byte: UInt8) -> Bool { byte == 0x09 || byte >= 0x20 && byte != 0x7f }
}
