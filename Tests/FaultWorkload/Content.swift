package import NIOCore

/// Bytes that follow from a seed and a length. Their name is enough to verify a stored body.
package struct Content: Hashable, Sendable {
    package var seed: UInt64
    package var length: Int

    package init(seed: UInt64, length: Int) {
        self.seed = seed
        self.length = length
    }

    /// Makes the content with a name.
    package init?(name: String) {
        let words = name.split(separator: ".")
        guard words.count == 2, let seed = UInt64(words[0]), let length = Int(words[1]), length >= 0 else { return nil }
        self.init(seed: seed, length: length)
    }

    /// The name, which is stored beside the bytes.
    package var name: String { "\(seed).\(length)" }

    /// The bytes. No two stretches of 4 KiB are equal, in one content or in two.
    package var bytes: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(length + Self.noise.readableBytes + 16)
        var number: UInt64 = 0
        while buffer.readableBytes < length {
            buffer.writeInteger(seed)
            buffer.writeInteger(number)
            buffer.writeImmutableBuffer(Self.noise)
            number += 1
        }
        return buffer.getSlice(at: 0, length: length) ?? ByteBuffer()
    }

    /// As many letters, for content stored as text.
    package var text: String {
        var letters: [UInt8] = []
        letters.reserveCapacity(length + Self.letters.count + 48)
        while letters.count < length {
            letters += Array("\(seed).\(letters.count).".utf8)
            letters += Self.letters
        }
        letters.removeLast(letters.count - length)
        return String(decoding: letters, as: UTF8.self)
    }

    private static let letters = Array(noise.readableBytesView).map { UInt8(ascii: "@") + ($0 & 0x1f) }

    private static let noise: ByteBuffer = {
        var random = SeededRandom(seed: 7)
        return ByteBuffer(bytes: (0..<4080).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }()
}

/// SplitMix64: random enough for tests, and the same for one seed on every machine.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
