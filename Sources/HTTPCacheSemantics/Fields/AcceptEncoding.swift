package import HTTPTypes

/// Normalizes `Accept-Encoding`. RFC 9110 §12.5.3
package enum AcceptEncoding {
    /// Returns one spelling for all requests that accept the same subset of `br`, `gzip` and
    /// `zstd`.
    ///
    /// It lists the accepted codings of these three, in this order and without weights. If the
    /// client accepts none of them, the result is `identity`.
    ///
    /// There are at most eight spellings, so an origin that negotiates creates at most eight
    /// variants. The result never contains a coding that the client rejects: a weight of 0 excludes
    /// a coding, `*` matches the codings that are not named, and `identity;q=0` is kept. Weights
    /// and rarely used codings (`deflate`, `compress`) are dropped.
    ///
    /// - Returns: `nil` if the fields must not change: the field is absent, a line is malformed, or
    ///   the client accepts only other codings and rejects `identity`.
    package static func normalized(_ fields: HTTPFields) -> String? {
        guard fields.contains(.acceptEncoding) else { return nil }
        var weights: [String: Bool] = [:]
        for value in fields[values: .acceptEncoding] {
            for member in value.utf8.split(separator: UInt8(ascii: ",")) {
                guard let (coding, isAccepted) = read(member) else { return nil }
                guard let coding else { continue }
                // If a coding is listed twice, both members must accept it.
                weights[coding] = (weights[coding] ?? true) && isAccepted
            }
        }
        let others = weights["*"] ?? false
        var accepted = ["br", "gzip", "zstd"].filter { weights[$0] ?? others }
        let acceptsIdentity = weights["identity"] ?? weights["*"] ?? true
        if !acceptsIdentity {
            guard !accepted.isEmpty else { return nil }
            accepted.append("identity;q=0")
        }
        return accepted.isEmpty ? "identity" : accepted.joined(separator: ", ")
    }

    /// Reads one member. Returns its coding in lower case (`nil` for an empty member) and whether
    /// its weight is above 0, or `nil` if the member is malformed.
    private static func read(_ member: Substring.UTF8View.SubSequence) -> (coding: String?, isAccepted: Bool)? {
        let parts = member.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { Array($0.trimmingWhitespace()) }
        guard let name = parts.first else { return (nil, false) }
        if name.isEmpty { return parts.count == 1 ? (nil, false) : nil }
        guard name.allSatisfy(\.isTokenByte), parts.count <= 2 else { return nil }
        var coding = String(decoding: name.map(\.asciiLowercased), as: UTF8.self)
        // `x-gzip` means `gzip`. RFC 9110 §8.4.1.3
        if coding == "x-gzip" { coding = "gzip" }
        guard parts.count == 2 else { return (coding, true) }
        guard let weight = weight(parts[1]) else { return nil }
        return (coding, weight)
    }

    /// Returns whether `q=…` is above 0, or `nil` if it is not a weight. RFC 9110 §12.4.2
    private static func weight(_ bytes: [UInt8]) -> Bool? {
        guard bytes.count >= 3, bytes.count <= 7, bytes[0].asciiLowercased == UInt8(ascii: "q"),
            bytes[1] == UInt8(ascii: "=")
        else { return nil }
        let digits = bytes[2...]
        guard digits[2] == UInt8(ascii: "0") || digits[2] == UInt8(ascii: "1"),
            digits.count == 1 || digits[3] == UInt8(ascii: "."), digits.dropFirst(2).allSatisfy(\.isDigit)
        else { return nil }
        let isZero = digits.allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ".") }
        guard digits[2] == UInt8(ascii: "0") || digits.dropFirst(2).allSatisfy({ $0 == UInt8(ascii: "0") }) else {
            return nil
        }
        return !isZero
    }
}
