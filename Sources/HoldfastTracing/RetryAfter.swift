/// `Retry-After`: how long a collector wants to be left alone. RFC 9110 §10.2.3
enum RetryAfter {
    /// The longest wait that is honoured.
    static let limit = Duration.seconds(300)

    /// The wait: a number of seconds, or the time up to a date; `nil` if the value is neither.
    ///
    /// - Parameter now: seconds since 1970.
    static func wait(_ value: String, at now: Int64) -> Duration? {
        if !value.isEmpty, value.utf8.allSatisfy(isDigit) {
            // A number that is too large is beyond the limit.
            return UInt32(value).map { min(.seconds($0), limit) } ?? limit
        }
        return date(value).map { min(max(.zero, .seconds($0 - now)), limit) }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The seconds since 1970 of a date like `Sun, 06 Nov 1994 08:49:37 GMT`: that is the only form
    /// that is still written.
    private static func date(_ text: String) -> Int64? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].utf8.count == 4, parts[0].hasSuffix(","), parts[5] == "GMT",
            let day = number(parts[1], 1...31, digits: 2),
            let month = months.firstIndex(of: String(parts[2])),
            let year = number(parts[3], 1970...9999, digits: 4)
        else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let hour = number(time[0], 0...23, digits: 2),
            let minute = number(time[1], 0...59, digits: 2), let second = number(time[2], 0...60, digits: 2)
        else { return nil }
        // The year begins in March here, so that the day of a leap year is its last.
        let shifted = month < 2 ? year - 1 : year
        let days =
            365 * shifted + shifted / 4 - shifted / 100 + shifted / 400
            + (153 * Int64((month + 10) % 12) + 2) / 5 + day - 719_469
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: Substring, _ range: ClosedRange<Int64>, digits: Int) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy(isDigit), let number = Int64(text), range.contains(number)
        else { return nil }
        return number
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
