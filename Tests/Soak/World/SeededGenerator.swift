/// Random numbers that a seed repeats.
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A separate generator for each part of a run: a further draw in one changes nothing in
    /// another.
    init(seed: UInt64, parts: UInt64...) {
        state = parts.reduce(Self.mix(seed &+ 1)) { Self.mix($0 ^ ($1 &* 0xA24B_AED4_963E_E407 &+ 0x9E37)) }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    static func mix(_ value: UInt64) -> UInt64 {
        var value = value
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// The same number for the same text and seed, in every process.
    static func hash(_ text: String, seed: UInt64) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return mix(hash ^ mix(seed))
    }

    /// `true` so often, from 0 to 1.
    mutating func chance(_ share: Double) -> Bool { Double(next() >> 11) * 0x1p-53 < share }

    /// A number of the range.
    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// One of the choices. There must be at least one.
    mutating func pick<Choice>(_ choices: [Choice]) -> Choice { choices[number(0...(choices.count - 1))] }
}
