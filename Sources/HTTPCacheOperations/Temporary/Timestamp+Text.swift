package import HTTPCacheSemantics

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Timestamp {
    /// The instant as RFC 3339 text in UTC, with milliseconds only if they are not zero.
    package var rfc3339: String {
        // Clamp to the range of years that the format can express.
        let seconds = min(max(Double(milliseconds) / 1000, -62_135_596_800), 253_402_300_799)
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: milliseconds % 1000 != 0, timeZone: .gmt)
        return Date(timeIntervalSince1970: seconds).formatted(style)
    }
}
