import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Content-Range, RFC 9110 §14.4.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9110Ranges))
struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-499/1234", 0..<500, 1234), ("bytes 500-999/*", 500..<1000, nil), ("Bytes 0-0/1", 0..<1, 1),
            (" bytes 0-0/1 ", 0..<1, 1), ("bytes 007-8/9", 7..<9, 9),
            ("bytes 0-9223372036854775806/9223372036854775807", 0 ..< .maximum, .maximum),
        ] as [(String, Range<StatedLength>, StatedLength?)]
    )
    func parsesValidFields(value: String, range: Range<StatedLength>, length: StatedLength?) {
        #expect(ContentRange(fields([("Content-Range", value)])) == ContentRange(range: range, completeLength: length))
    }

    @Test(arguments: [
        "", "bytes", "bytes 0-499", "bytes 0-499/", "bytes 0-499/499", "bytes 5-4/10", "bytes -5/10", "bytes 5-/10",
        "bytes */1234", "items 0-4/10", "bytes=0-4/10", "bytes  0-4/10", "bytes 0 -4/10", "bytes 0-4/10, 5-6/10",
        "bytes 0-4/10 x", "bytes +0-4/10", "bytes 0-4/+10", "bytes 0-4/**", "bytes 0-4/1e3",
        "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775807/9223372036854775808",
        "bytes 0-4/99999999999999999999999", "bytes 99999999999999999999-99999999999999999999/*",
    ])
    func rejectsMalformedFields(value: String) {
        #expect(ContentRange(fields([("Content-Range", value)])) == nil)
    }

    @Test func rejectsRepeatedAndAbsentFields() {
        #expect(ContentRange(fields([("Content-Range", "bytes 0-4/10"), ("Content-Range", "bytes 0-4/10")])) == nil)
        #expect(ContentRange([:]) == nil)
    }

    @Test func writesTheFieldValue() {
        #expect(ContentRange(range: 0..<500, completeLength: 1234).fieldValue == "bytes 0-499/1234")
        #expect(ContentRange(range: 500..<1000, completeLength: nil).fieldValue == "bytes 500-999/*")
        // The initializer checks nothing, and nothing traps.
        _ = ContentRange(range: 0..<0, completeLength: 0).fieldValue
        _ = ContentRange(range: .maximum ..< .maximum, completeLength: .maximum).fieldValue
    }

    @Test func parsesTheLengthOfA416() {
        #expect(ContentRange.unsatisfiedLength(fields([("Content-Range", "bytes */1234")])) == 1234)
        #expect(ContentRange.unsatisfiedLength(fields([("Content-Range", "bytes */*")])) == nil)
        #expect(ContentRange.unsatisfiedLength(fields([("Content-Range", "bytes 0-1/2")])) == nil)
        #expect(ContentRange.unsatisfied(completeLength: 7) == "bytes */7")
    }

    @Test func onlyPartialResponsesHaveARange() {
        #expect(storedPart("bytes 2-3/10").partialRange?.range == 2..<4)
        #expect(storedPart("bytes x").partialRange == nil)
        #expect(stored([("Content-Range", "bytes 2-3/10")]).partialRange == nil)
    }
}
