/// The name of a metric, its kind and the sentence that explains it.
///
/// Names follow Prometheus: base units, a suffix for the unit, and `_total` on counters.
/// https://prometheus.io/docs/practices/naming/
public struct MetricDescription: Hashable, Sendable {
    /// How values are kept and written.
    public enum Kind: Hashable, Sendable {
        /// It only grows while the process runs. Its name ends in `_total`.
        case counter
        /// It goes up and down.
        case gauge
        /// Values are counted in buckets, each of which has an upper bound, itself included. The
        /// bounds are in ascending order; a last one, `+Inf`, is added.
        case histogram(bounds: [Double])
    }

    /// The name, with the suffix `_total` for counters.
    public let name: String
    /// How its values are kept.
    public let kind: Kind
    /// One sentence, for `# HELP`.
    public let help: String

    /// Describes a metric.
    public init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// The lines of one series: a histogram has one for each bucket, its count and its sum.
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
    /// The ten from 0.005 on are those that OpenTelemetry advises, so that they can be compared.
    /// A response from memory takes some 0.0001 s, for which the others are.
    public static let durationBounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025,
        0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    ]
}
