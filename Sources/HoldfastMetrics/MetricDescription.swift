/// The name and kind of a metric, and the sentence that explains it.
///
/// Names follow the Prometheus conventions: base units, a suffix for the unit, and `_total` on
/// counters. https://prometheus.io/docs/practices/naming/
public struct MetricDescription: Hashable, Sendable {
    /// The way values are stored and written.
    public enum Kind: Hashable, Sendable {
        /// A value that only increases while the process runs. Its name ends in `_total`.
        case counter
        /// A value that can increase and decrease.
        case gauge
        /// Values counted in buckets. Each bucket includes its upper bound. The bounds are in
        /// ascending order. A last bound, `+Inf`, is added.
        case histogram(bounds: [Double])
    }

    /// The name, with the suffix `_total` for counters.
    public let name: String
    /// The way values are stored.
    public let kind: Kind
    /// One sentence, for `# HELP`.
    public let help: String

    /// Describes a metric.
    public init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// The number of lines for one series. A histogram has one line for each bucket, one for its
    /// count and one for its sum.
    var lineCount: Int {
        switch kind {
        case .counter, .gauge: 1
        case .histogram(let bounds): bounds.count + 3
        }
    }
}

extension MetricDescription {
    /// Bounds for the duration of a request in seconds.
    ///
    /// For comparison with other programs, the bounds from 0.005 up are the bounds that
    /// OpenTelemetry recommends. The smaller bounds are for responses from memory, which take about
    /// 0.0001 s.
    package static let durationBounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025,
        0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    ]
}
