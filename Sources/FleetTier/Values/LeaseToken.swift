import HTTPCache

/// 16 random bytes that identify the holder of a lease.
package struct LeaseToken: Sendable, Hashable, CustomStringConvertible {
    /// The text that an engine stores instead of a token while no node should wait.
    package static let pass = "pass"

    private let bytes: SixteenBytes

    package init(using generator: inout some RandomNumberGenerator) { bytes = SixteenBytes(using: &generator) }

    /// The token as 32 lower-case hexadecimal digits.
    package var description: String { bytes.hex }
}
