import Testing

@testable import HTTPCacheSemantics

@Suite(.timeLimit(.minutes(20))) struct RetryAfterTests {
    static let values: [(String, Int64?)] = [
        ("0", 0), ("7", 7), ("99999999999999999999", 1 << 31), ("", nil), ("-1", nil), ("1.5", nil), ("soon", nil),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:50:39 GMT", 62),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Sunday, 06-Nov-94 08:49:39 GMT", 2),
        ("Sun, 06 Nov 1994 08:49:37", nil), ("Sun, 06 Nov 1994 24:00:00 GMT", nil),
    ]

    @Test(arguments: values) func readsSecondsOrDate(_ value: String, _ seconds: Int64?) throws {
        let now = try #require(
            HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT", reference: Timestamp(milliseconds: 0))
        )
        #expect(RetryAfter.wait(value, at: now) == seconds.map { .seconds($0) })
    }
}
