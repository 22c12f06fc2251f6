import HTTPCache

/// 16 random bytes that tell the holder of a lease from others.
package struct LeaseToken: Sendable, Hashable, CustomStringConvertible {
    /// The text that an engine keeps in the place of a token for a lease that no node takes.
    package static let pass = "pass"

    private let bytes: SixteenBytes

    package init(using generator: inout some RandomNumberGenerator) { bytes = SixteenBytes(using: &generator) }

    /// 32 lower-case hexadecimal digits.
    package var description: String { bytes.hex }
}
