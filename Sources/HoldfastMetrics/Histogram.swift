/// Counts values in buckets.
public struct Histogram: Sendable {
    /// The upper bounds, in ascending order. A value that equals a bound is counted in its bucket.
    public let bounds: [Double]
    /// How many values each bucket got; the last one is for those above all bounds.
    public private(set) var counts: [UInt64]
    /// The sum of all values.
    public private(set) var sum = 0.0

    /// - Parameter bounds: in ascending order.
    public init(_ bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// Counts a value. One that is no number is not counted: it would make the sum none.
    public mutating func add(_ value: Double) {
        guard !value.isNaN else { return }
        counts[index(of: value)] += 1
        sum += value
    }

    /// Adds what another histogram with the same bounds has counted.
    public mutating func add(_ other: Histogram) {
        for (index, count) in other.counts.enumerated() { counts[index] += count }
        sum += other.sum
    }

    /// The value of a series.
    public var value: MetricSeries.Value { .histogram(counts: counts, sum: sum) }

    private func index(of value: Double) -> Int {
        // Most values are small, and the bounds are few.
        for (index, bound) in bounds.enumerated() where value <= bound { return index }
        return bounds.count
    }
}
