/// The numbers at which integers, floating-point numbers and their sums overflow, as a peer may
/// state them: 0, 1, 2³¹ ± 1, 2³², 2⁵³ ± 1, 2⁶³ − 1, 2⁶³ and 2⁶⁴. docs/attacks.md, 75
enum StatedNumbers {
    static let all = [
        "0", "1", "2147483647", "2147483648", "2147483649", "4294967295", "4294967296", "9007199254740991",
        "9007199254740992", "9007199254740993", "9223372036854775806", "9223372036854775807", "9223372036854775808",
        "18446744073709551615", "18446744073709551616",
    ]

    /// The same in hexadecimal.
    static let hexadecimal = [
        "0", "1", "7FFFFFFF", "80000000", "80000001", "FFFFFFFF", "100000000", "1FFFFFFFFFFFFF", "20000000000000",
        "20000000000001", "7FFFFFFFFFFFFFFE", "7FFFFFFFFFFFFFFF", "8000000000000000", "FFFFFFFFFFFFFFFF",
        "10000000000000000",
    ]

    /// Whether `Int64` holds the number.
    static func fits(_ number: String) -> Bool { Int64(number) != nil }

    /// Dates at the ends of what `HTTP-date` can say, and beyond.
    static let dates = [
        "Sat, 01 Jan 0000 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Tue, 19 Jan 2038 03:14:08 GMT",
        "Fri, 31 Dec 9999 23:59:60 GMT", "Friday, 31-Dec-99 23:59:59 GMT", "Fri, 31 Dec 99999 23:59:59 GMT",
        "9223372036854775807", "-1",
    ]
}
