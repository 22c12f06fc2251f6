import Foundation

extension [UInt8] {
    /// Compares as fast as the system can: the harness is built without optimization.
    func isSame(as other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        guard !isEmpty else { return true }
        return withUnsafeBytes { mine in
            other.withUnsafeBytes { theirs in
                guard let mine = mine.baseAddress, let theirs = theirs.baseAddress else { return false }
                return memcmp(mine, theirs, count) == 0
            }
        }
    }

    /// The place of the first byte that differs.
    func firstDifference(from other: [UInt8]) -> Int {
        zip(self, other).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? Swift.min(count, other.count)
    }

    /// In the chunked coding, cut at one place. RFC 9112 §7.1
    func chunked(at place: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for piece in [self[..<place], self[place...]] where !piece.isEmpty {
            bytes += Array("\(String(piece.count, radix: 16))\r\n".utf8)
            bytes += piece
            bytes += [13, 10]
        }
        return bytes + Array("0\r\n\r\n".utf8)
    }

    /// A number that other bytes do not have.
    var digest: String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in self { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
