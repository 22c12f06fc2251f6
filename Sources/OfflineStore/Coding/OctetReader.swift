/// Reads what ``OctetWriter`` wrote.
///
/// Whatever it is given, it answers with a value or `nil`; it never traps.
///
/// It is used inside the closure that lends the octets, and not beyond.
struct OctetReader {
    private let octets: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ octets: UnsafeRawBufferPointer) {
        self.octets = octets
    }

    var remaining: Int { octets.count - offset }

    /// What was read since an offset.
    func octets(from start: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: octets[start..<offset]) }

    mutating func read<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        let size = MemoryLayout<Value>.size
        guard remaining >= size else { return nil }
        defer { offset += size }
        return Value(littleEndian: octets.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    mutating func readPrefixed() -> UnsafeRawBufferPointer? {
        guard let count = read(UInt32.self), remaining >= Int(count) else { return nil }
        defer { offset += Int(count) }
        return UnsafeRawBufferPointer(rebasing: octets[offset..<offset + Int(count)])
    }

    /// Text; what is not UTF-8 in it is replaced. (Refusing it costs four times as much, and a checksum was verified before.)
    mutating func readPrefixedText() -> String? {
        guard let bytes = readPrefixed() else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
