/// Counts values in buckets.
package struct Histogram: Sendable {
    /// The upper bounds, in ascending order. A bucket includes its bound.
    package let bounds: [Double]
    /// The number of values in each bucket. The last bucket counts values above all bounds.
    package private(set) var counts: [UInt64]
    /// The sum of all values.
    package private(set) var sum = 0.0

    /// - Parameter bounds: the upper bounds, in ascending order.
    package init(_ bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// Adds a value. NaN is ignored, because it would make the sum NaN.
    package mutating func add(_ value: Double) {
        guard !value.isNaN else { return }
        counts[index(of: value)] += 1
        sum += value
    }

    /// Adds the values of another histogram with the same bounds.
    package mutating func add(_ other: Histogram) {
        for (index, count) in other.counts.enumerated() { counts[index] += count }
        sum += other.sum
    }

    /// The histogram as the value of a series.
    package var value: MetricSeries.Value { .histogram(counts: counts, sum: sum) }

    private func index(of value: Double) -> Int {
        // A linear search suffices: most values are small, and there are few bounds.
        for (index, bound) in bounds.enumerated() where value <= bound { return index }
        return bounds.count
    }
}
