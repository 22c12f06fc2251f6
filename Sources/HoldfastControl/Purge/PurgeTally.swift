import HTTPCache
import HoldfastMetrics

/// Counts purges by kind of selector, action and result. Dry runs are not counted.
struct PurgeTally: Sendable {
    /// The result of a purge.
    enum Result: String, CaseIterable {
        case ok
        /// The purge failed. Part of it may be in effect.
        case failed
        /// The purge was invalid, there were too many purges, or the gateway was shutting down.
        case rejected
    }

    /// The kind of a purge's selectors. `several` means more than one kind.
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

    /// The metric. It contains every series from the start, so that the first purge shows as an
    /// increase.
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

/// Reports the number of a coordinator's purges.
struct PurgeMetrics: MetricsCollector {
    let coordinator: PurgeCoordinator

    func families() async -> [MetricFamily] { [await coordinator.tally.family] }
}
