#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension ParameterValue {
    /// The format of a date. Each API has its own convention.
    public enum Dates: Sendable, Hashable {
        /// UTC in whole seconds, such as `2026-02-03T04:05:06Z`.
        case iso8601
        /// Whole seconds since 1970, UTC.
        case secondsSince1970
        /// Whole milliseconds since 1970, UTC.
        case millisecondsSince1970
    }

    /// Creates a date in the format of a convention, rounded down to whole units. A number outside
    /// the range of `Int64` is clamped to that range.
    public static func date(_ date: Date, as convention: Dates = .iso8601) -> ParameterValue {
        switch convention {
        case .iso8601:
            .string(Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down)).formatted(.iso8601))
        case .secondsSince1970: .integer(Int64(clamping: date.timeIntervalSince1970))
        case .millisecondsSince1970: .integer(Int64(clamping: date.timeIntervalSince1970 * 1000))
        }
    }
}

extension Encodable where Self == ParameterValue {
    /// See ``ParameterValue/date(_:as:)``.
    @_disfavoredOverload
    public static func date(_ date: Date, as convention: ParameterValue.Dates = .iso8601) -> ParameterValue {
        ParameterValue.date(date, as: convention)
    }
}

extension Int64 {
    /// Rounds the number down and clamps it to the range.
    fileprivate init(clamping number: Double) {
        let whole = number.rounded(.down)
        self = Int64(exactly: whole) ?? (whole < 0 ? .min : .max)
    }
}
