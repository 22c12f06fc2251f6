/// One of the 16,384 parts into which a cluster divides its keys.
///
/// <https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model>
struct HashSlot: Sendable, Hashable, CustomStringConvertible {
    static let count = 16_384

    let number: Int

    /// - Parameter number: from 0 to 16,383.
    init?(_ number: Int) {
        guard (0..<Self.count).contains(number) else { return nil }
        self.number = number
    }

    /// Computes the slot of a key. If the key has a hash tag, only the tag counts: the text between
    /// the first `{` and the next `}`, unless it is empty.
    init(of key: String) {
        var bytes = Array(key.utf8)[...]
        if let open = bytes.firstIndex(of: UInt8(ascii: "{")) {
            let rest = bytes[(open + 1)...]
            if let close = rest.firstIndex(of: UInt8(ascii: "}")), close > rest.startIndex { bytes = rest[..<close] }
        }
        number = Int(Self.checksum(bytes)) % Self.count
    }

    var description: String { "\(number)" }

    /// Returns the CRC-16/XMODEM checksum.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
        var sum: UInt16 = 0
        for byte in bytes {
            sum ^= UInt16(byte) << 8
            for _ in 0..<8 { sum = sum & 0x8000 == 0 ? sum << 1 : (sum << 1) ^ 0x1021 }
        }
        return sum
    }
}
