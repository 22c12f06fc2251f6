import HTTPCacheSemantics
import NIOCore

/// Formats dates for a log. Each second is formatted only once.
struct LogDates {
    private var second = Int64.min
    private var combined = ByteBuffer()
    private var rfc3339 = ByteBuffer()

    /// Writes `10/Oct/2026:13:55:36 +0000`.
    mutating func writeCombined(_ time: Timestamp, to bytes: inout ByteBuffer) {
        refresh(time)
        bytes.writeImmutableBuffer(combined)
    }

    /// Writes `2026-10-10T13:55:36.123Z`. RFC 3339
    mutating func writeRFC3339(_ time: Timestamp, to bytes: inout ByteBuffer) {
        refresh(time)
        bytes.writeImmutableBuffer(rfc3339)
        bytes.writeInteger(UInt8(ascii: "."))
        bytes.writeDecimal(Self.parts(time).milliseconds, digits: 3)
        bytes.writeInteger(UInt8(ascii: "Z"))
    }

    /// Returns the second and the milliseconds of a time. Times before 1970 and after 9999 are
    /// clamped to those years.
    private static func parts(_ time: Timestamp) -> (second: Int64, milliseconds: Int64) {
        let limited = min(max(time.milliseconds, 0), 253_402_300_799_999)
        return (limited / 1000, limited % 1000)
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private mutating func refresh(_ time: Timestamp) {
        let now = Self.parts(time).second
        guard now != second else { return }
        second = now
        let (year, month, day) = Self.date(ofDay: now / 86_400)
        let clock = now % 86_400
        func writeClock(_ bytes: inout ByteBuffer) {
            bytes.writeDecimal(clock / 3600, digits: 2)
            bytes.writeInteger(UInt8(ascii: ":"))
            bytes.writeDecimal(clock / 60 % 60, digits: 2)
            bytes.writeInteger(UInt8(ascii: ":"))
            bytes.writeDecimal(clock % 60, digits: 2)
        }
        combined.clear()
        combined.writeDecimal(day, digits: 2)
        combined.writeString("/\(Self.months[Int(month) - 1])/")
        combined.writeDecimal(year, digits: 4)
        combined.writeInteger(UInt8(ascii: ":"))
        writeClock(&combined)
        combined.writeStaticString(" +0000")
        rfc3339.clear()
        rfc3339.writeDecimal(year, digits: 4)
        rfc3339.writeInteger(UInt8(ascii: "-"))
        rfc3339.writeDecimal(month, digits: 2)
        rfc3339.writeInteger(UInt8(ascii: "-"))
        rfc3339.writeDecimal(day, digits: 2)
        rfc3339.writeInteger(UInt8(ascii: "T"))
        writeClock(&rfc3339)
    }

    /// Returns the date of a day since 1970-01-01, in the Gregorian calendar.
    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Years start in March here, so that a leap day is the last day of its year. There are
        // 719,468 days from 0000-03-01 to 1970-01-01. An era has 400 years.
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
