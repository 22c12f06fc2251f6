import LibC

/// SplitMix64: a seed always gives the same numbers.
struct SeededRandom {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// From 0 up to, but not including, 1.
    mutating func unit() -> Double { Double(next() >> 11) / 0x1p53 }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

    mutating func happens(_ probability: Double) -> Bool { unit() < probability }

    mutating func lognormal(median: Double, sigma: Double) -> Double {
        let radius = (-2 * log(1 - unit())).squareRoot()
        return median * exp(sigma * radius * cos(2 * .pi * unit()))
    }
}
