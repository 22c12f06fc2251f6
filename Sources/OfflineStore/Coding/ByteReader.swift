/// Reads the encoding that ``ByteWriter`` writes.
///
/// For any input it returns a value or `nil`; it never traps. It must not outlive the closure that
/// lends it the bytes.
struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var remaining: Int { bytes.count - offset }

    /// The bytes that were read since an offset.
    func bytes(from start: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[start..<offset]) }

    mutating func read<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        let size = MemoryLayout<Value>.size
        guard remaining >= size else { return nil }
        defer { offset += size }
        return Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    mutating func readPrefixed() -> UnsafeRawBufferPointer? {
        guard let count = read(UInt32.self), remaining >= Int(count) else { return nil }
        defer { offset += Int(count) }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Int(count)])
    }

    /// Reads text, and replaces bytes that are not UTF-8. (Rejecting them costs four times as much,
    /// and a checksum was verified before.)
    mutating func readPrefixedText() -> String? {
        guard let bytes = readPrefixed() else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
