/// Parses `Retry-After`. RFC 9110 §10.2.3
package enum RetryAfter {
    /// Returns the delay that a response requests, at most 2³¹ seconds: a number of seconds, or the
    /// time until a date. Returns `nil` if the value is neither.
    package static func wait(_ value: String, at now: Timestamp) -> Duration? {
        if !value.isEmpty, value.utf8.allSatisfy(\.isDigit) {
            // A number with too many digits for an integer is still a long delay.
            return .seconds(min(Int64(value) ?? .max, 1 << 31))
        }
        guard let instant = HTTPDate.parse(value, reference: now) else { return nil }
        return .milliseconds(max(0, instant.milliseconds(since: now)))
    }
}
