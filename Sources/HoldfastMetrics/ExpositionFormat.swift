/// The format in which metrics are served.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/ (0.0.4) and
/// https://prometheus.io/docs/specs/om/open_metrics_spec/ (1.0.0).
public enum ExpositionFormat: Sendable {
    /// The Prometheus text format, version 0.0.4.
    case prometheus
    /// OpenMetrics, version 1.0.0.
    case openMetrics

    /// Selects the format for a client: OpenMetrics if the client requests it, otherwise the
    /// Prometheus format.
    ///
    /// - Parameter accept: the values of the field `Accept`, joined with commas. RFC 9110 §12.5.1
    public init(accept: String) {
        self = .prometheus
        var best = 0.0
        for member in accept.lowercased().split(separator: ",") {
            let parts = member.split(separator: ";").map { $0.trimmed }
            guard let type = parts.first else { continue }
            let version = parts.first { $0.hasPrefix("version=") }?.dropFirst("version=".count)
            let weight = parts.first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            let isOpenMetrics = type == "application/openmetrics-text" && (version == nil || version == "1.0.0")
            let isText = type == "text/plain" || type == "text/*" || type == "*/*"
            guard isOpenMetrics || isText, weight > best else { continue }
            best = weight
            self = isOpenMetrics ? .openMetrics : .prometheus
        }
    }

    /// The value of `Content-Type`.
    public var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// Returns the metrics as text. Families without series are omitted.
    public func text(_ families: [MetricFamily]) -> String {
        var text = ""
        let names = Set(families.filter { !$0.series.isEmpty }.map(\.description.name))
        for family in families where !family.series.isEmpty { write(family, beside: names, to: &text) }
        if self == .openMetrics { text += "# EOF\n" }
        return text
    }

    /// - Parameter names: the names of all metrics.
    private func write(_ family: MetricFamily, beside names: Set<String>, to text: inout String) {
        let description = family.description
        var (name, type) = (description.name, description.kind.word)
        // OpenMetrics omits the `_total` suffix from a counter's name, and forbids two metrics with
        // the same name, such as a gauge and a counter of connections. If the short name is taken,
        // the counter is written with an unknown type.
        if self == .openMetrics, description.kind == .counter, name.hasSuffix("_total") {
            let short = String(name.dropLast("_total".count))
            (name, type) = names.contains(short) ? (name, "unknown") : (short, type)
        }
        text += "# HELP \(name) \(escape(description.help, quotes: self == .openMetrics))\n"
        text += "# TYPE \(name) \(type)\n"
        for series in family.series {
            switch series.value {
            case .integer(let value): line(description.name, series.labels.all, "\(value)", to: &text)
            case .number(let value): line(description.name, series.labels.all, Self.number(value), to: &text)
            case .histogram(let counts, let sum): write(description, series.labels.all, counts, sum, to: &text)
            }
        }
    }

    private func write(
        _ description: MetricDescription,
        _ labels: [MetricLabels.Label],
        _ counts: [UInt64],
        _ sum: Double,
        to text: inout String
    ) {
        guard case .histogram(let bounds) = description.kind else { return }
        var count: UInt64 = 0
        for (bucket, bound) in zip(counts, bounds + [.infinity]) {
            // Buckets are cumulative.
            count += bucket
            let bound = MetricLabels.Label("le", limit(bound))
            line("\(description.name)_bucket", labels + [bound], "\(count)", to: &text)
        }
        line("\(description.name)_sum", labels, Self.number(sum), to: &text)
        line("\(description.name)_count", labels, "\(count)", to: &text)
    }

    private func line(_ name: String, _ labels: [MetricLabels.Label], _ value: String, to text: inout String) {
        text += name
        if !labels.isEmpty {
            text += "{"
            for (index, label) in labels.enumerated() {
                text += "\(index > 0 ? "," : "")\(label.name)=\"\(escape(label.value, quotes: true))\""
            }
            text += "}"
        }
        text += " \(value)\n"
    }

    private func escape(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    /// Formats the upper bound of a bucket. OpenMetrics requires a decimal point.
    private func limit(_ bound: Double) -> String {
        switch self {
        case .prometheus: Self.number(bound)
        case .openMetrics: bound.isInfinite ? "+Inf" : "\(bound)"
        }
    }

    /// Returns the shortest text for a number (`1` for 1.0), or the words that the formats use for
    /// NaN and infinity.
    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        let text = "\(value)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}

extension MetricDescription.Kind {
    fileprivate var word: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}

extension Substring {
    /// The text without leading and trailing spaces and tabs.
    fileprivate var trimmed: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
