/// Reads what ``ByteWriter`` wrote.
///
/// Whatever it is given, it answers with a value or `nil`; it never traps.
///
/// It is used inside the closure that lends the bytes, and not beyond.
struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var remaining: Int { bytes.count - offset }

    /// What was read since an offset.
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

    /// Text; what is not UTF-8 in it is replaced. (Refusing it costs four times as much, and a
    /// checksum was verified before.)
    mutating func readPrefixedText() -> String? {
        guard let bytes = readPrefixed() else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
