import LibC

extension UnsafeRawBufferPointer {
    /// Returns the first index of a byte at or after a start. The C library's search examines many
    /// bytes at a time.
    package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard start < count, let base = baseAddress,
            let found = memchr(base + start, Int32(byte), count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }

    /// Returns a range of the bytes as a separate buffer.
    @inlinable package func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }
}
