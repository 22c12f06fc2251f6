/// An operator's temporary extension of the configured staleness limits: the minimum staleness
/// allowed for every stored response while its origin fails.
///
/// The extension has these effects:
/// - It raises `stale.offline` and, while the origin is unreachable, `stale.unreachable`, if rules
///   set them.
/// - It raises `stale-if-error` and `stale.on-error` for an origin that responds with 5xx.
/// - It never lowers a limit and never overrides a directive: `must-revalidate`, `no-cache`,
///   `proxy-revalidate` and `s-maxage` stay binding.
/// - It does not change a limit of 0, which means *never*.
///
/// RFC 9111 §4.2.4
package struct StalenessExtension: Sendable, Hashable, Codable {
    /// The seconds beyond the freshness lifetime, from 0 to ``longest``. 0 means no extension.
    package let seconds: Int64

    /// The maximum extension: 365 days, in seconds.
    package static let longest: Int64 = 365 * 86_400
    /// No extension: only the configured limits apply.
    package static let none = StalenessExtension(seconds: 0)

    /// Creates an extension. Values out of range are clamped.
    package init(seconds: Int64) { self.seconds = min(max(0, seconds), Self.longest) }

    /// Reads a number of seconds.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let seconds = try container.decode(Int64.self)
        guard (0...Self.longest).contains(seconds) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "The length of a staleness extension is out of range."
            )
        }
        self.seconds = seconds
    }

    /// Writes the number of seconds.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(seconds)
    }
}
