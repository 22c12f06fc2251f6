import HTTPCacheSemantics

/// Parses the dates of cookies, which occur in many formats. RFC 6265bis §5.1.1
enum CookieDate {
    /// Reads a date whose parts may have any order and any delimiters.
    ///
    /// - Returns: `nil` if the time, day, month or year is missing or out of range.
    static func parse(_ text: String) -> Timestamp? {
        var secondOfDay: Int64?
        var (day, month, year): (Int64?, Int64?, Int64?)
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if secondOfDay == nil, let found = second(ofDay: token) {
                secondOfDay = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = monthNumber(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found
            }
        }
        guard let secondOfDay, let day, let month, let year else { return nil }
        let fullYear = year < 70 ? year + 2000 : year < 100 ? year + 1900 : year
        guard fullYear >= 1601 else { return nil }
        return CivilDate(year: fullYear, month: month, day: day).timestamp(secondOfDay: secondOfDay)
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Returns the number at the start of a token, if its number of digits is in a range.
    private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int64? {
        let found = token.prefix(while: \.isDigit)
        return digits.contains(found.count) ? Int64(Substring(found)) : nil
    }

    /// Returns the second of the day for a time such as `8:49:37`.
    private static func second(ofDay token: Substring.UTF8View) -> Int64? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(\.isDigit), parts[1].allSatisfy(\.isDigit),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2), hour < 24, minute < 60, second < 60
        else { return nil }
        return (hour * 60 + minute) * 60 + second
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    private static func monthNumber(_ token: Substring.UTF8View) -> Int64? {
        let name = String(Substring(token.prefix(3))).lowercased()
        return zip((1 as Int64)..., months).first { $0.1 == name }?.0
    }
}
