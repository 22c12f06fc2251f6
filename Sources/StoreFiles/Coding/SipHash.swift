/// SipHash-2-4, the keyed hash that indexes keys and target URIs.
///
/// The key is a secret of the store, so clients that choose URLs cannot cause collisions. A
/// matching hash is never trusted: the whole key is compared.
///
/// <https://www.aumasson.jp/siphash/siphash.pdf>
package struct SipHash: Sendable, Hashable {
    private let key0: UInt64
    private let key1: UInt64

    /// - Parameter secret: 16 bytes; any other length returns `nil`.
    package init?(secret: [UInt8]) {
        guard secret.count == 16 else { return nil }
        key0 = secret.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 0, as: UInt64.self)) }
        key1 = secret.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) }
    }

    /// Returns the hash of some bytes.
    ///
    /// - Parameter domain: separates the hashes of different things; 0 is plain SipHash.
    package func hash(_ bytes: [UInt8], domain: UInt64 = 0) -> UInt64 {
        bytes.withUnsafeBytes { hash($0, domain: domain) }
    }

    /// Returns the hash of some bytes.
    package func hash(_ bytes: UnsafeRawBufferPointer, domain: UInt64 = 0) -> UInt64 {
        var state = State(key0: key0 ^ domain, key1: key1)
        let count = bytes.count
        var offset = 0
        while offset &+ 8 <= count {
            state.absorb(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset &+= 8
        }
        var last = UInt64(truncatingIfNeeded: count) &<< 56
        var shift: UInt64 = 0
        while offset < count {
            last |= UInt64(bytes[offset]) &<< shift
            shift &+= 8
            offset &+= 1
        }
        state.absorb(last)
        return state.finish()
    }

    private struct State {
        var v0: UInt64
        var v1: UInt64
        var v2: UInt64
        var v3: UInt64

        init(key0: UInt64, key1: UInt64) {
            v0 = key0 ^ 0x736f_6d65_7073_6575
            v1 = key1 ^ 0x646f_7261_6e64_6f6d
            v2 = key0 ^ 0x6c79_6765_6e65_7261
            v3 = key1 ^ 0x7465_6462_7974_6573
        }

        @inline(__always)
        mutating func absorb(_ word: UInt64) {
            v3 ^= word
            round()
            round()
            v0 ^= word
        }

        mutating func finish() -> UInt64 {
            v2 ^= 0xff
            round()
            round()
            round()
            round()
            return v0 ^ v1 ^ v2 ^ v3
        }

        @inline(__always)
        private mutating func round() {
            v0 = v0 &+ v1
            v1 = Self.rotate(v1, 13) ^ v0
            v0 = Self.rotate(v0, 32)
            v2 = v2 &+ v3
            v3 = Self.rotate(v3, 16) ^ v2
            v0 = v0 &+ v3
            v3 = Self.rotate(v3, 21) ^ v0
            v2 = v2 &+ v1
            v1 = Self.rotate(v1, 17) ^ v2
            v2 = Self.rotate(v2, 32)
        }

        @inline(__always)
        private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
            (value &<< bits) | (value &>> (64 &- bits))
        }
    }
}
