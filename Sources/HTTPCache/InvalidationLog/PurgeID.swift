/// The ID of a purge: 16 random bytes. It stays the same wherever and however often the purge is
/// published.
package struct PurgeID: Sendable, Hashable, CustomStringConvertible {
    private let sixteen: SixteenBytes

    package init(using generator: inout some RandomNumberGenerator) { sixteen = SixteenBytes(using: &generator) }

    /// - Returns: `nil` unless there are 16 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard let sixteen = SixteenBytes(bytes) else { return nil }
        self.sixteen = sixteen
    }

    /// Returns a new random ID.
    package static func random() -> PurgeID {
        var generator = SystemRandomNumberGenerator()
        return PurgeID(using: &generator)
    }

    package var bytes: [UInt8] { sixteen.bytes }
    package var description: String { sixteen.hex }
}
