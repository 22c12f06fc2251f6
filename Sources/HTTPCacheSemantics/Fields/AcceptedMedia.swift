package import HTTPTypes

/// Reads `Accept`. RFC 9110 §12.5.1
package enum AcceptedMedia {
    /// Returns whether a client that sends these fields prefers an HTML page to JSON, as browsers
    /// do for pages: the weight of `text/html` is higher than the weight of JSON.
    ///
    /// A client that accepts both alike, as with `*/*` or without the field, gets JSON: it is
    /// probably a program. Malformed members do not count.
    package static func prefersHTML(_ fields: HTTPFields) -> Bool {
        var html = Preference(type: "text", subtypes: ["html"])
        var json = Preference(type: "application", subtypes: ["json", "problem+json"])
        for value in fields[values: .accept] {
            for member in value.utf8.split(separator: UInt8(ascii: ",")) {
                guard let range = read(member) else { continue }
                html.add(range)
                json.add(range)
            }
        }
        return html.weight > json.weight
    }

    private struct MediaRange {
        var type: String
        var subtype: String
        /// In thousandths.
        var weight: Int
    }

    /// The weight of one kind of content. The most specific range decides.
    private struct Preference {
        let type: String
        let subtypes: [String]
        /// The weight, in thousandths.
        private(set) var weight = 0
        private var specificity = 0

        init(type: String, subtypes: [String]) {
            self.type = type
            self.subtypes = subtypes
        }

        mutating func add(_ range: MediaRange) {
            let specificity =
                switch (range.type, range.subtype) {
                case ("*", "*"): 1
                case (type, "*"): 2
                case (type, let subtype) where subtypes.contains(subtype): 3
                default: 0
                }
            guard specificity > 0, specificity >= self.specificity else { return }
            // Of equally specific ranges, such as two kinds of JSON, the best counts.
            weight = specificity == self.specificity ? max(weight, range.weight) : range.weight
            self.specificity = specificity
        }
    }

    /// Reads one member; `nil` if it is empty or malformed. Parameters other than the weight are
    /// ignored.
    private static func read(_ member: Substring.UTF8View.SubSequence) -> MediaRange? {
        let parts = member.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { Array($0.trimmingWhitespace()) }
        guard let name = parts.first else { return nil }
        let names = name.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard names.count == 2, let type = names.first, let subtype = names.last,
            names.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isTokenByte) })
        else { return nil }
        var weight = 1000
        for parameter in parts.dropFirst() where isWeight(parameter) {
            guard let stated = AcceptEncoding.weight(parameter) else { return nil }
            weight = stated
        }
        return MediaRange(type: lowercased(type), subtype: lowercased(subtype), weight: weight)
    }

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.map(\.asciiLowercased), as: UTF8.self)
    }

    private static func isWeight(_ parameter: [UInt8]) -> Bool {
        parameter.prefix(2).map(\.asciiLowercased) == Array("q=".utf8)
    }
}
