import HTTPCacheSemantics
import Testing

/// HTTP date, RFC 9110 §5.6.7.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9110Dates))
struct HTTPDateTests {
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Thu, 31 Dec 1998 23:59:60 GMT", 915_148_800),
            // Any case and a wrong weekday are accepted.
            ("THU, 18 AUG 2050 02:01:18 gMT", 2_544_400_878), ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("  Sun, 06 Nov 1994 08:49:37 GMT ", 784_111_777), ("Thu Aug  8 02:01:18 2050", 2_543_536_878),
            ("Thu Aug 18 02:01:18 2050", 2_544_400_878),
        ] as [(String, Int64)]
    )
    func parsesAllThreeForms(text: String, seconds: Int64) {
        #expect(HTTPDate.parse(text, reference: noon) == Timestamp(seconds: seconds))
    }

    @Test(arguments: [
        "", "0", "-1", "now", "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 AEST",
        "Thu, 18 Aug 50 02:01:18 GMT", "Thu 18 Aug 2050 02:01:18 GMT", "Thu, 18  Aug  2050 02:01:18 GMT",
        "Thu, 18-Aug-2050 02:01:18 GMT", "Thu, 18 Aug 2050 02.01.18 GMT", "Thu, 18 Aug 2050 2:01:18 GMT",
        "Thu, 8 Aug 2050 02:01:18 GMT", "Thu, 31 Jun 2050 02:01:18 GMT", "Thu, 29 Feb 2023 02:01:18 GMT",
        "Thu, 00 Aug 2050 02:01:18 GMT", "Thu, 18 Aug 2050 24:00:00 GMT", "Thu, 18 Aug 2050 02:60:18 GMT",
        "Thu, 18 Aug 2050 02:01:61 GMT", "Thu, 18 Aug 2050 02:01:18", "Thu, 18 Aug 2050 02:01:18 GMTx",
        "Xxx, 18 Aug 2050 02:01:18 GMT", "Thu, 18 Xxx 2050 02:01:18 GMT", "Thu, 18 Aug -050 02:01:18 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov 006 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT", "2026-03-01T12:00:00Z",
    ])
    func rejectsInvalidDates(text: String) {
        #expect(HTTPDate.parse(text, reference: noon) == nil)
    }

    /// A two-digit year more than 50 years ahead belongs to the century before.
    @Test(arguments: [
        ("Sunday, 01-Mar-26 12:00:00 GMT", 2026), ("Sunday, 01-Mar-76 12:00:00 GMT", 2076),
        ("Sunday, 02-Mar-76 12:00:00 GMT", 1976), ("Sunday, 01-Jan-77 12:00:00 GMT", 1977),
        ("Sunday, 01-Mar-00 12:00:00 GMT", 2000), ("Sunday, 01-Mar-99 12:00:00 GMT", 1999),
    ])
    func twoDigitYearsFollowTheFiftyYearRule(text: String, year: Int) throws {
        let parsed = try #require(HTTPDate.parse(text, reference: noon))
        #expect(HTTPDate.format(parsed).contains(" \(year) "))
    }

    @Test func roundTripsEveryTenthDayOfFourHundredYears() throws {
        // 400 years are the calendar's whole period; an odd step of seconds also visits every time
        // of day.
        var second: Int64 = -62_135_596_800
        var count = 0
        while second < -62_135_596_800 + 146_097 * 86_400 {
            let timestamp = Timestamp(seconds: second)
            let text = HTTPDate.format(timestamp)
            let parsed = HTTPDate.parse(text, reference: noon)
            if parsed != timestamp { try #require(parsed == timestamp, "\(second) was written as '\(text)'") }
            second += 864_007
            count += 1
        }
        #expect(count > 14_600)
    }

    @Test(
        arguments: [
            (784_111_777_999, "Sun, 06 Nov 1994 08:49:37 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"), (Int64.min, "Sat, 01 Jan 0000 00:00:00 GMT"),
        ] as [(Int64, String)]
    )
    func writesFixdates(milliseconds: Int64, text: String) {
        #expect(HTTPDate.format(Timestamp(milliseconds: milliseconds)) == text)
    }

    /// A clock that is centuries off gave a year before the first one, which no date can express.
    @Test(arguments: [Timestamp.distantPast, .distantFuture, Timestamp(milliseconds: -62_135_596_800_000)])
    func twoDigitYearIsWritableForEveryReference(reference: Timestamp) throws {
        let instant = try #require(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", reference: reference))
        #expect(HTTPDate.parse(HTTPDate.format(instant), reference: reference) == instant)
    }
}
