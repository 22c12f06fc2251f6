/// A metric with all its series at one moment.
public struct MetricFamily: Equatable, Sendable {
    /// The metric's name, kind and help.
    public let description: MetricDescription
    /// The series, in output order.
    public var series: [MetricSeries]

    /// - Parameter series: the series, each with different labels.
    public init(_ description: MetricDescription, _ series: [MetricSeries]) {
        self.description = description
        self.series = series
    }

    /// The number of lines for all series.
    public var lineCount: Int { series.count * description.lineCount }
}

/// A series: one combination of labels, and its value.
public struct MetricSeries: Equatable, Sendable {
    /// The value of a series, by the kind of its metric.
    public enum Value: Equatable, Sendable {
        /// A counter, or a gauge that counts something.
        case integer(Int64)
        /// A counter or a gauge.
        case number(Double)
        /// The number of values in each bucket (`+Inf` is last), and the sum of all values.
        case histogram(counts: [UInt64], sum: Double)
    }

    /// The labels, unique within the metric.
    public let labels: MetricLabels
    /// The value at the time of the scrape.
    public var value: Value

    /// Creates the only series of a metric.
    public init(_ value: Value) { self.init([], value) }

    /// Creates one of several series of a metric.
    public init(_ labels: MetricLabels, _ value: Value) {
        self.labels = labels
        self.value = value
    }
}

/// The labels of a series, in output order.
public struct MetricLabels: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// A name and a value. Values come from a fixed set or from the configuration, never from a
    /// client.
    public struct Label: Hashable, Sendable {
        /// The name, which consists of letters, digits and `_`.
        public let name: String
        /// The value, which may be any text.
        public let value: String

        /// Creates the label `name="value"`.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// All labels in order.
    public let all: [Label]

    /// Creates labels in this order.
    public init(arrayLiteral elements: Label...) { all = elements }

    /// Creates labels in this order, from names and values.
    public init(_ pairs: [(String, String)]) { all = pairs.map { Label($0.0, $0.1) } }
}
