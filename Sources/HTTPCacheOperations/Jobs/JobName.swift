/// The name of a job, which is also the name of its file: 1 to 64 ASCII letters, digits, `-`, `_`
/// and `.`, beginning with a letter or a digit.
package struct JobName: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let description: String

    private static let maximumLength = 64

    /// - Returns: `nil` if the text is not a name.
    package init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count), let first = text.utf8.first,
            Self.isPlain(first), text.utf8.allSatisfy({ Self.isPlain($0) || "-_.".utf8.contains($0) })
        else { return nil }
        description = text
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    package static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}
