import HoldfastMetrics

@testable import HoldfastGateway

/// The metrics of one moment.
struct Scrape {
    let families: [MetricFamily]

    init(_ gateway: RunningGateway) async {
        families = await gateway.server.metrics.families() + gateway.transport.metrics.families()
    }

    var seriesCount: Int { families.reduce(0) { $0 + $1.series.count } }

    func series(_ name: String, _ labels: [String: String]) -> [MetricSeries] {
        families.filter { $0.description.name == name }.flatMap(\.series).filter { series in
            labels.allSatisfy { label in
                series.labels.all.contains { $0.name == label.key && $0.value == label.value }
            }
        }
    }

    /// The sum of all series with these labels.
    func count(_ name: String, _ labels: [String: String] = [:]) -> Int {
        series(name, labels).reduce(0) { sum, series in
            switch series.value {
            case .integer(let count): sum + Int(count)
            case .number(let value): sum + Int(value)
            case .histogram(let counts, _): sum + Int(counts.reduce(0, +))
            }
        }
    }
}
