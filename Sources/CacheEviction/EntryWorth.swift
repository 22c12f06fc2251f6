/// How much an entry is worth keeping, on a logarithmic scale: its uses times the cost of a miss,
/// divided by its size.
///
/// Dividing by the size keeps more entries, which saves requests but costs bytes. So size counts
/// only between two bounds, and only as much as the policy trusts it (``learn(lead:)``).
struct EntryWorth: Sendable {
    /// The number of steps of the scale. Two steps double the worth.
    static let stepCount = 64
    private static let middle = 34
    /// The bounds of size, as powers of two. Smaller and larger entries count as this large.
    private static let smallest = 10.0
    private static let largest = 18.0
    /// The uses of a new entry if the policy trusts past uses entirely: most new entries are never
    /// used again. Without trust, a new entry counts as one that was used.
    private static let leastFirstUse = 0.1
    /// The lead over LRU, as a share of the bytes requested, at which trust does not change.
    private static let wantedLead = 0.005

    /// How much size and past uses count, from 0 to 1.
    private(set) var trust = 1.0
    /// The running mean of the sizes of new entries, as a power of two. Sizes are compared with it,
    /// so that the scale stays the same when trust changes.
    private var typicalSize = 0.0
    private var noted = 0.0

    /// The uses of a new entry.
    var firstUse: Float { Float(Self.leastFirstUse + (1 - Self.leastFirstUse) * (1 - trust)) }

    /// Returns the step of an entry on the scale.
    func step(uses: Float, size: Int, cost: MissCost) -> Int {
        let smallness = typicalSize - Self.log2(ofSize: size)
        let doublings = Double(cost.doublings) + trust * (Self.log2(Double(uses)) + smallness)
        let step = 2 * doublings + Double(Self.middle) + 0.5
        return Int(min(max(step, 0), Double(Self.stepCount - 1)))
    }

    /// The worth of each step.
    static let values: [Double] = (0..<stepCount).map { step in
        let doublings = step - middle
        let power = Double(sign: .plus, exponent: doublings >> 1, significand: 1)
        return doublings & 1 == 0 ? power : power * 2.0.squareRoot()
    }

    static var highestValue: Double { values[stepCount - 1] }

    /// Notes the size of a new entry.
    mutating func note(size: Int) {
        noted = min(noted + 1, 1024)
        typicalSize += (Self.log2(ofSize: size) - typicalSize) / noted
    }

    /// Trusts size and past uses more if the policy missed fewer bytes than LRU, otherwise less.
    ///
    /// - Parameter lead: how many bytes fewer, as a share of the bytes requested.
    mutating func learn(lead: Double) {
        trust = min(max(trust + lead - Self.wantedLead, 0), 1)
    }

    private static func log2(ofSize size: Int) -> Double { min(max(log2(Double(size)), smallest), largest) }

    /// The logarithm, interpolated between powers of two: at most 0.09 too low.
    private static func log2(_ number: Double) -> Double {
        guard number > 0 else { return smallest - 24 }
        return Double(number.exponent) + number.significand - 1
    }
}
