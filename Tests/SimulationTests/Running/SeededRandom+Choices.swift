import HoldfastTesting

// Every choice of a simulation comes from such a generator, so that its seed determines the run.
extension SeededRandom {
    /// A separate generator for one part of the world, so that a further draw in one part changes
    /// nothing in another.
    init(seed: UInt64, part: UInt64) {
        self.init(seed: Self.mix(seed) ^ Self.mix(part &* 0xA24B_AED4_963E_E407 &+ 0x9E37))
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        var value = value
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// `true` so often, from 0 to 1.
    mutating func chance(_ share: Double) -> Bool {
        Double(next() >> 11) * 0x1p-53 < share
    }

    mutating func int(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[int(0...(elements.count - 1))]
    }
}
