/// The `Age` field. RFC 9111 §5.1
enum AgeField {
    /// Returns the first member of the first line, which the nearest cache wrote, or `nil` if it is
    /// not a number of seconds.
    static func value(_ bytes: UnsafeBufferPointer<UInt8>) -> DeltaSeconds? {
        var scanner = ByteScanner(bytes)
        scanner.skipSeparators()
        let start = scanner.position
        scanner.skipMember()
        return DeltaSeconds(bytes, in: bytes.trimmed(start..<scanner.position))
    }
}
