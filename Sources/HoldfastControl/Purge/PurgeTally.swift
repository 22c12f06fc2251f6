import HTTPCache
import HoldfastMetrics

/// Counts purges by selector kind, action and result. Dry runs do not count.
struct PurgeTally: Sendable {
    /// How a purge ended.
    enum Result: String, CaseIterable {
        case ok
        /// The purge was performed in part, or not at all.
        case failed
        /// The purge is invalid, or there were too many.
        case rejected
    }

    /// The selectors of a purge: of one kind, or of several.
    private enum Selector: String, CaseIterable {
        case url, prefix, tag, host, all, several

        init(_ select: PurgeRequest.Selection) {
            let kinds: [(Selector, Bool)] = [
                (.url, !select.urls.isEmpty), (.prefix, !select.prefixes.isEmpty), (.tag, !select.tags.isEmpty),
                (.host, !select.hosts.isEmpty), (.all, select.all),
            ]
            let used = kinds.filter(\.1)
            self = used.count == 1 ? used[0].0 : .several
        }
    }

    private struct Labels: Hashable {
        var selector: Selector
        var action: PurgeRequest.Action
        var result: Result
    }

    private var counts: [Labels: Int64] = [:]

    mutating func add(_ purge: PurgeRequest, _ result: Result) {
        guard !purge.dryRun else { return }
        let labels = Labels(selector: Selector(purge.select), action: purge.action, result: result)
        counts[labels, default: 0] += 1
    }

    /// Includes every series from the start, so that the first purge shows up as an increase.
    var family: MetricFamily {
        var series: [MetricSeries] = []
        for selector in Selector.allCases {
            for action in PurgeRequest.Action.allCases {
                for result in Result.allCases {
                    let count = counts[Labels(selector: selector, action: action, result: result)] ?? 0
                    let labels: MetricLabels = [
                        .init("selector", selector.rawValue), .init("kind", action.rawValue),
                        .init("result", result.rawValue),
                    ]
                    series.append(MetricSeries(labels, .integer(count)))
                }
            }
        }
        let help = "Purges through this process, by selector, action and result."
        return MetricFamily(MetricDescription("holdfast_purges_total", .counter, help), series)
    }
}

/// Reports the purges of a coordinator.
struct PurgeMetrics: MetricsCollector {
    let coordinator: PurgeCoordinator

    func families() async -> [MetricFamily] { [await coordinator.tally.family] }
}
