package import HTTPTypes

/// Reads and normalizes `Accept-Encoding`. RFC 9110 §12.5.3
///
/// A field with more than 256 members counts as malformed, so that no request takes much time.
/// Clients send fewer than ten.
package enum AcceptEncoding {
    static let maximumMembers = 256

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
        guard let weights = weights(fields) else { return nil }
        var accepted = ["br", "gzip", "zstd"].filter { accepts($0, weights) }
        if !accepts("identity", weights) {
            guard !accepted.isEmpty else { return nil }
            accepted.append("identity;q=0")
        }
        return accepted.isEmpty ? "identity" : accepted.joined(separator: ", ")
    }

    /// Returns whether a client that sends these fields gets `gzip` rather than content without a
    /// coding: the field accepts `gzip`, and gives `identity` no higher weight.
    ///
    /// A client that does not send the field, or sends a malformed field, gets no coding.
    package static func prefersGzip(_ fields: HTTPFields) -> Bool {
        guard let weights = weights(fields), let weight = weights["gzip"] ?? weights["*"], weight > 0 else {
            return false
        }
        return weight >= weights["identity"] ?? 0
    }

    /// The codings that a request accepts, read once for any number of responses.
    package struct Accepted {
        private let weights: [String: Int]?

        package init(_ fields: HTTPFields) { weights = AcceptEncoding.weights(fields) }

        /// Returns whether the client can read content with all of these codings.
        ///
        /// Without the field, or with a malformed one, only content without a coding. RFC 9110
        /// §12.5.3 allows any coding without the field, but such a client seldom decodes one.
        ///
        /// - Parameter codings: in lower case, without `identity`; empty for content without a
        ///   coding.
        package func contains(_ codings: [String]) -> Bool {
            guard let weights else { return codings.isEmpty }
            return (codings.isEmpty ? ["identity"] : codings).allSatisfy { AcceptEncoding.accepts($0, weights) }
        }
    }

    private static func accepts(_ coding: String, _ weights: [String: Int]) -> Bool {
        (weights[coding] ?? weights["*"] ?? (coding == "identity" ? 1 : 0)) > 0
    }

    /// Returns the weight of each named coding, in thousandths; `nil` if the field is absent or a
    /// line is malformed.
    private static func weights(_ fields: HTTPFields) -> [String: Int]? {
        guard fields.contains(.acceptEncoding) else { return nil }
        var weights: [String: Int] = [:]
        var count = 0
        for value in fields[values: .acceptEncoding] {
            let members = value.utf8.split(separator: UInt8(ascii: ","), maxSplits: maximumMembers)
            count += members.count
            guard count <= maximumMembers else { return nil }
            for member in members {
                guard let (coding, weight) = read(member) else { return nil }
                guard let coding else { continue }
                // If a coding is listed twice, both members must accept it.
                weights[coding] = min(weights[coding] ?? weight, weight)
            }
        }
        return weights
    }

    /// Reads one member. Returns its coding in lower case (`nil` for an empty member) and its
    /// weight in thousandths, or `nil` if the member is malformed.
    private static func read(_ member: Substring.UTF8View.SubSequence) -> (coding: String?, weight: Int)? {
        let parts = member.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { Array($0.trimmingWhitespace()) }
        guard let name = parts.first else { return (nil, 0) }
        if name.isEmpty { return parts.count == 1 ? (nil, 0) : nil }
        guard name.allSatisfy(\.isTokenByte), parts.count <= 2 else { return nil }
        var coding = String(decoding: name.map(\.asciiLowercased), as: UTF8.self)
        // `x-gzip` means `gzip`. RFC 9110 §8.4.1.3
        if coding == "x-gzip" { coding = "gzip" }
        guard parts.count == 2 else { return (coding, 1000) }
        guard let weight = weight(parts[1]) else { return nil }
        return (coding, weight)
    }

    /// Returns the weight in `q=…` in thousandths, or `nil` if it is not a weight. RFC 9110 §12.4.2
    static func weight(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 3, bytes.count <= 7, bytes[0].asciiLowercased == UInt8(ascii: "q"),
            bytes[1] == UInt8(ascii: "=")
        else { return nil }
        let digits = bytes[2...]
        guard digits[2] == UInt8(ascii: "0") || digits[2] == UInt8(ascii: "1"),
            digits.count == 1 || digits[3] == UInt8(ascii: "."), digits.dropFirst(2).allSatisfy(\.isDigit)
        else { return nil }
        // Missing decimals are zeros.
        let thousandths = ([digits[2]] + digits.dropFirst(2) + Array("000".utf8)).prefix(4)
        let weight = thousandths.reduce(0) { $0 * 10 + Int($1 & 0x0F) }
        return weight <= 1000 ? weight : nil
    }
}
