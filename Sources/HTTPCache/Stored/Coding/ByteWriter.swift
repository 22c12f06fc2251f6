/// Writes integers (little-endian) and length-prefixed bytes.
@usableFromInline package struct ByteWriter: Sendable {
    /// The bytes written so far.
    @inlinable package var bytes: [UInt8] { content }
    @usableFromInline var content: [UInt8] = []

    /// Creates an empty writer.
    @inlinable package init(reservingCapacity capacity: Int = 0) {
        content.reserveCapacity(capacity)
    }

    @inlinable package mutating func write<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.littleEndian) { content.append(contentsOf: $0) }
    }

    @inlinable package mutating func write(prefixed content: some Collection<UInt8>) {
        write(UInt32(truncatingIfNeeded: content.count))
        self.content.append(contentsOf: content)
    }

    @inlinable package mutating func write(prefixed text: String) {
        write(prefixed: text.utf8)
    }
}
