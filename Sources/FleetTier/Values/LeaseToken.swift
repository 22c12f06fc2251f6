import HTTPCache

/// 16 random bytes that identify the holder of a lease.
package struct LeaseToken: Sendable, Hashable, CustomStringConvertible {
    /// The text that the server stores instead of a token while nodes should not wait for each
    /// other.
    package static let pass = "pass"

    private let bytes: SixteenBytes

    package init(using generator: inout some RandomNumberGenerator) { bytes = SixteenBytes(using: &generator) }

    /// The token as 32 lower-case hexadecimal digits.
    package var description: String { bytes.hex }
}
