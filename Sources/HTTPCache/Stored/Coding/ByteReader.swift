/// Reads the encoding that ``ByteWriter`` writes.
///
/// It returns a value or `nil` for any input, and never traps. It must not outlive the closure that
/// lends it the bytes.
@usableFromInline package struct ByteReader {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    /// The number of bytes read so far.
    @inlinable package var offset: Int { position }
    @usableFromInline var position = 0

    /// Creates a reader that starts at the first byte.
    @inlinable package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The number of remaining bytes.
    @inlinable package var remaining: Int { bytes.count - position }

    /// Returns the bytes that were read since an offset.
    @inlinable package func bytes(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[start..<position])
    }

    /// Reads an integer.
    @inlinable package mutating func read<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        let size = MemoryLayout<Value>.size
        guard remaining >= size else { return nil }
        defer { position += size }
        return Value(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: Value.self))
    }

    /// Reads bytes that follow their length.
    @inlinable package mutating func readPrefixed() -> UnsafeRawBufferPointer? {
        guard let count = read(UInt32.self), remaining >= Int(count) else { return nil }
        defer { position += Int(count) }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + Int(count)])
    }

    /// Reads text, and replaces bytes that are not UTF-8. (Rejecting them would cost four times as
    /// much, and a checksum has already been verified.)
    @inlinable package mutating func readPrefixedText() -> String? {
        guard let bytes = readPrefixed() else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
