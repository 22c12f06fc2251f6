/// A day in the proleptic Gregorian calendar.
///
/// For the arithmetic, a year begins in March, which makes the leap day the last day of the year.
package struct CivilDate: Sendable, Hashable {
    var year: Int64
    /// 1 to 12.
    var month: Int64
    var day: Int64

    package init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    init(daysSince1970 days: Int64) {
        // Days since 0000-03-01, split into eras of 400 years.
        let (era, dayOfEra) = (days + 719_468).dividedDown(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shifted + 2) / 5 + 1
        month = shifted < 10 ? shifted + 3 : shifted - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    var daysSince1970: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = shiftedYear.dividedDown(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Whether the day exists (February 30 does not).
    var isValid: Bool {
        guard month >= 1, month <= 12, day >= 1 else { return false }
        switch month {
        case 2: return day <= (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28)
        case 4, 6, 9, 11: return day <= 30
        default: return day <= 31
        }
    }

    func isAfter(_ other: CivilDate) -> Bool {
        (year, month, day) > (other.year, other.month, other.day)
    }

    /// Returns the instant, for years with four digits, or `nil` if the day does not exist.
    package func timestamp(secondOfDay: Int64) -> Timestamp? {
        isValid ? Timestamp(seconds: daysSince1970 * 86_400 + secondOfDay) : nil
    }
}

extension Int64 {
    /// Divides and rounds toward negative infinity, so that instants before 1970 also get a valid
    /// day and time.
    func dividedDown(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
