/// Writes integers (little-endian) and length-prefixed octets.
struct OctetWriter {
    private(set) var octets: [UInt8] = []

    init(reservingCapacity capacity: Int = 0) {
        octets.reserveCapacity(capacity)
    }

    mutating func write<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.littleEndian) { octets.append(contentsOf: $0) }
    }

    mutating func write(prefixed bytes: some Collection<UInt8>) {
        write(UInt32(truncatingIfNeeded: bytes.count))
        octets.append(contentsOf: bytes)
    }

    mutating func write(prefixed text: String) {
        write(prefixed: text.utf8)
    }
}
