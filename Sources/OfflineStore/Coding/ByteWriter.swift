/// Writes integers (little-endian) and length-prefixed bytes.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    init(reservingCapacity capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    mutating func write<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(prefixed content: some Collection<UInt8>) {
        write(UInt32(truncatingIfNeeded: content.count))
        bytes.append(contentsOf: content)
    }

    mutating func write(prefixed text: String) {
        write(prefixed: text.utf8)
    }
}
