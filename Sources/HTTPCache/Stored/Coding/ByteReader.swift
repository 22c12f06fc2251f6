/// Reads the encoding that ``ByteWriter`` writes.
///
/// For any input it returns a value or `nil`; it never traps. It must not outlive the closure that
/// lends it the bytes.
package struct ByteReader {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    /// How many bytes were read.
    @inlinable package var offset: Int { position }
    @usableFromInline var position = 0

    /// Reads from the first byte.
    @inlinable package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// How many bytes are left.
    @inlinable package var remaining: Int { bytes.count - position }

    /// The bytes that were read since an offset.
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

    /// Reads bytes behind their length.
    @inlinable package mutating func readPrefixed() -> UnsafeRawBufferPointer? {
        guard let count = read(UInt32.self), remaining >= Int(count) else { return nil }
        defer { position += Int(count) }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + Int(count)])
    }

    /// Reads text, and replaces bytes that are not UTF-8. (Rejecting them costs four times as much,
    /// and a checksum was verified before.)
    @inlinable package mutating func readPrefixedText() -> String? {
        guard let bytes = readPrefixed() else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
