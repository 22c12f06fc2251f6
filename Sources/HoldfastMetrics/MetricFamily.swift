/// A metric with all of its series, as they were at one moment.
public struct MetricFamily: Equatable, Sendable {
    /// Its name, kind and help.
    public let description: MetricDescription
    /// In the order in which they are written.
    public var series: [MetricSeries]

    /// - Parameter series: each with other labels.
    public init(_ description: MetricDescription, _ series: [MetricSeries]) {
        self.description = description
        self.series = series
    }

    /// The lines that its series take.
    public var lineCount: Int { series.count * description.lineCount }
}

/// One combination of label values, and its value.
public struct MetricSeries: Equatable, Sendable {
    /// The value of a series, by the kind of its metric.
    public enum Value: Equatable, Sendable {
        /// A counter, or a gauge of something that is counted.
        case integer(Int64)
        /// A counter or a gauge.
        case number(Double)
        /// How many values each bucket got, the one of `+Inf` last, and the sum of all values.
        case histogram(counts: [UInt64], sum: Double)
    }

    /// They differ from those of the other series of its metric.
    public let labels: MetricLabels
    /// Its value at the moment of the scrape.
    public var value: Value

    /// The only series of its metric.
    public init(_ value: Value) { self.init([], value) }

    /// One of the series of its metric.
    public init(_ labels: MetricLabels, _ value: Value) {
        self.labels = labels
        self.value = value
    }
}

/// The labels of a series. Their order is that in which they are written.
public struct MetricLabels: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// A name and a value. Values come from a closed set or from the configuration, never from a
    /// client.
    public struct Label: Hashable, Sendable {
        /// Letters, digits and `_`.
        public let name: String
        /// Any text.
        public let value: String

        /// The label `name="value"`.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// All labels in their order.
    public let all: [Label]

    /// Labels in this order.
    public init(arrayLiteral elements: Label...) { all = elements }

    /// Labels in this order: names and values.
    public init(_ pairs: [(String, String)]) { all = pairs.map { Label($0.0, $0.1) } }
}
