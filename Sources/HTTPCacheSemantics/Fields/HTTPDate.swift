/// Parses the three HTTP date formats and writes the preferred one. RFC 9110 §5.6.7
///
/// Parsing is strict, because an invalid date has its own meaning (`Expires: 0` is in the past). As
/// in other caches, there are two exceptions: letters may have any case, and the weekday need not
/// match the date. The zone must be GMT.
package enum HTTPDate {
    /// Returns the instant that a field value states, or `nil` if it is not a date.
    ///
    /// - Parameter reference: the time at which the message was received. The obsolete RFC 850
    ///   format needs it to expand a two-digit year: the year is in the reference's century, or in
    ///   the previous century if it would be more than 50 years in the future.
    package static func parse(_ text: String, reference: Timestamp) -> Timestamp? {
        var copy = text
        return copy.withUTF8 { parse($0, reference: reference) }
    }

    static func parse(_ bytes: UnsafeBufferPointer<UInt8>, reference: Timestamp) -> Timestamp? {
        let range = bytes.trimmed(0..<bytes.count)
        // The longest date is "Wednesday, 09-Nov-94 08:49:37 GMT".
        guard range.count >= 24, range.count <= 33 else { return nil }
        var reader = DateReader(bytes: bytes, position: range.lowerBound, end: range.upperBound)
        switch reader.length(until: UInt8(ascii: ",")) {
        case 3: return reader.imfFixdate()
        case .some: return reader.rfc850(reference: reference)
        case nil: return reader.asctime()
        }
    }

    /// Writes an IMF-fixdate without fractional seconds: `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// Years are clamped to 0000 to 9999.
    package static func format(_ timestamp: Timestamp) -> String {
        // 0000-01-01T00:00:00Z and 9999-12-31T23:59:59Z: the format cannot express instants outside
        // this range.
        let milliseconds = min(max(timestamp.milliseconds, -62_167_219_200_000), 253_402_300_799_000)
        let (days, rest) = milliseconds.dividedDown(by: 86_400_000)
        let seconds = rest / 1000
        let date = CivilDate(daysSince1970: days)
        return String(unsafeUninitializedCapacity: 29) { buffer in
            var writer = DateWriter(buffer: buffer)
            // 1970-01-01 was a Thursday.
            let weekday = Int((days + 4).dividedDown(by: 7).remainder)
            writer.write(name: weekday, of: weekdayLetters)
            writer.write(", ")
            writer.write(date.day, digits: 2)
            writer.write(" ")
            writer.write(name: Int(date.month) - 1, of: monthLetters)
            writer.write(" ")
            writer.write(date.year, digits: 4)
            writer.write(" ")
            writer.write(seconds / 3600, digits: 2)
            writer.write(":")
            writer.write(seconds / 60 % 60, digits: 2)
            writer.write(":")
            writer.write(seconds % 60, digits: 2)
            writer.write(" GMT")
            return writer.position
        }
    }

    static let weekdayLetters: StaticString = "SunMonTueWedThuFriSat"
    static let monthLetters: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"
}

private struct DateReader {
    let bytes: UnsafeBufferPointer<UInt8>
    var position: Int
    let end: Int

    func length(until byte: UInt8) -> Int? {
        var index = position
        while index < end {
            if bytes[index] == byte { return index - position }
            index += 1
        }
        return nil
    }

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`.
    mutating func imfFixdate() -> Timestamp? {
        guard name(of: HTTPDate.weekdayLetters) != nil, literal(", "), let day = number(2), literal(" "),
            let month = name(of: HTTPDate.monthLetters), literal(" "), let year = number(4), literal(" "),
            let second = timeOfDay(), zone()
        else { return nil }
        return CivilDate(year: year, month: month + 1, day: day).timestamp(secondOfDay: second)
    }

    /// Parses `Sunday, 06-Nov-94 08:49:37 GMT`.
    mutating func rfc850(reference: Timestamp) -> Timestamp? {
        guard longWeekday(), literal(", "), let day = number(2), literal("-"),
            let month = name(of: HTTPDate.monthLetters), literal("-"), let shortYear = number(2), literal(" "),
            let second = timeOfDay(), zone()
        else { return nil }
        // Clamped to year 100 or later, so that the previous century can be written.
        let bounded = min(max(reference.milliseconds, -59_011_459_200_000), 253_402_300_799_000)
        let now = CivilDate(daysSince1970: bounded.dividedDown(by: 86_400_000).quotient)
        var date = CivilDate(year: now.year - now.year % 100 + shortYear, month: month + 1, day: day)
        // A date that seems to be more than 50 years in the future is in the past. RFC 9110 §5.6.7
        let limit = CivilDate(year: now.year + 50, month: now.month, day: now.day)
        if date.isAfter(limit) { date.year -= 100 }
        return date.timestamp(secondOfDay: second)
    }

    /// Parses `Sun Nov  6 08:49:37 1994`.
    mutating func asctime() -> Timestamp? {
        guard name(of: HTTPDate.weekdayLetters) != nil, literal(" "), let month = name(of: HTTPDate.monthLetters),
            literal(" ")
        else { return nil }
        let day = literal(" ") ? number(1) : number(2)
        guard let day, literal(" "), let second = timeOfDay(), literal(" "), let year = number(4), position == end
        else { return nil }
        return CivilDate(year: year, month: month + 1, day: day).timestamp(secondOfDay: second)
    }

    private mutating func timeOfDay() -> Int64? {
        guard let hour = number(2), literal(":"), let minute = number(2), literal(":"), let second = number(2),
            // 60 is a leap second and is read as the first second of the next minute.
            hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private mutating func zone() -> Bool { literal(" gmt") && position == end }

    private mutating func literal(_ text: StaticString) -> Bool {
        let upper = position + text.utf8CodeUnitCount
        guard upper <= end, bytes.equals(text, in: position..<upper) else { return false }
        position = upper
        return true
    }

    private mutating func number(_ digits: Int) -> Int64? {
        guard end - position >= digits else { return nil }
        var value: Int64 = 0
        for index in position..<(position + digits) {
            guard bytes[index].isDigit else { return nil }
            value = value * 10 + Int64(bytes[index] &- 0x30)
        }
        position += digits
        return value
    }

    /// Reads one of the three-letter names and returns its index.
    private mutating func name(of letters: StaticString) -> Int64? {
        guard end - position >= 3 else { return nil }
        let table = letters.utf8Start
        var offset = 0
        while offset < letters.utf8CodeUnitCount {
            var matches = true
            for index in 0..<3
            where bytes[position + index].asciiLowercased != table[offset + index].asciiLowercased {
                matches = false
                break
            }
            if matches {
                position += 3
                return Int64(offset / 3)
            }
            offset += 3
        }
        return nil
    }

    private mutating func longWeekday() -> Bool {
        literal("sunday") || literal("monday") || literal("tuesday") || literal("wednesday") || literal("thursday")
            || literal("friday") || literal("saturday")
    }
}

private struct DateWriter {
    let buffer: UnsafeMutableBufferPointer<UInt8>
    var position = 0

    mutating func write(_ text: StaticString) {
        for offset in 0..<text.utf8CodeUnitCount { put(text.utf8Start[offset]) }
    }

    mutating func write(name index: Int, of letters: StaticString) {
        for offset in 0..<3 { put(letters.utf8Start[index * 3 + offset]) }
    }

    mutating func write(_ number: Int64, digits: Int) {
        var rest = number
        for offset in stride(from: digits - 1, through: 0, by: -1) {
            buffer[position + offset] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        position += digits
    }

    private mutating func put(_ byte: UInt8) {
        buffer[position] = byte
        position += 1
    }
}
