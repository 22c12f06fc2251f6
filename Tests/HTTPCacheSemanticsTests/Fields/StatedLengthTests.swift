import HTTPTypes
import Testing

@testable import HTTPCacheSemantics

/// docs/attacks.md, 75
@Suite(.timeLimit(.minutes(20))) struct StatedLengthTests {
    private static let ends: [Int64] = [
        0, 1, 1 << 31 - 1, 1 << 31, 1 << 31 + 1, 1 << 53 - 1, 1 << 53, 1 << 53 + 1, .max - 1, .max,
    ]

    @Test(arguments: ends)
    func isReadFromDigits(_ number: Int64) throws {
        let length = try #require(StatedLength(digits: "\(number)"))
        #expect(length == StatedLength(clamping: number) && length.description == "\(number)")
        #expect(length.bytes(upTo: number) == number && length.isWithin(number))
        #expect(length.bytes(upTo: number - 1) == nil && !length.isWithin(number - 1))
        #expect(length.capped(at: Int64.max) == number && length.capped(at: Int.max) == Int(number))
        #expect(length.capped(at: 0 as Int64) == 0)
    }

    @Test(arguments: ["", "+1", "-1", " 1", "1 ", "0x1", "1.0", "9223372036854775808", "18446744073709551616"])
    func isNotReadFromOtherTexts(_ text: String) {
        #expect(StatedLength(digits: text) == nil)
        let fields: HTTPFields = [.contentLength: text]
        #expect(text.contains(" ") || ContentLength(fields) == .malformed)
    }

    /// Mutant: `adding` that wraps.
    @Test func sumsAndDifferencesThatDoNotFitAreNil() {
        for first in Self.ends {
            for second in Self.ends {
                let (one, other) = (StatedLength(clamping: first), StatedLength(clamping: second))
                let (sum, overflow) = first.addingReportingOverflow(second)
                #expect(one.adding(other) == (overflow ? nil : StatedLength(clamping: sum)))
                #expect(one.subtracting(other) == (first < second ? nil : StatedLength(clamping: first - second)))
                #expect((one < other) == (first < second) && (one == other) == (first == second))
                guard first <= second else { continue }
                let range = one..<other
                #expect(range.length == StatedLength(clamping: second - first))
                #expect(range.bytes(upTo: second) == first..<second)
                #expect(first == second || range.bytes(upTo: second - 1) == nil)
                #expect(range.counted(from: one) == 0..<range.length)
                #expect(range.counted(from: .maximum) == nil || first == .max)
            }
        }
        #expect(StatedLength(clamping: -1 as Int64) == 0 && StatedLength(clamping: Int.min) == 0)
    }

    @Test func lengthsThatDifferAreNone() {
        func read(_ values: String...) -> ContentLength { ContentLength(fields(values.map { ("Content-Length", $0) })) }
        #expect(read() == .absent)
        #expect(read("12") == .bytes(12) && read("12, 12") == .bytes(12) && read("12", "12") == .bytes(12))
        #expect(read("12", "13") == .malformed && read("12, x") == .malformed && read("") == .malformed)
        #expect(read("9223372036854775807").bytes == .maximum && read("9223372036854775808").bytes == nil)
    }
}
