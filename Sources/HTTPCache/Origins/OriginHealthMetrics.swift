import Metrics
import Synchronization

/// Counts the outages of origins, and the probes that check whether they are reachable again:
/// `holdfast_origin_outages_total` and `holdfast_origin_probes_total`, by origin.
///
/// The dimension is bounded: see ``OriginLabels``.
final class OriginHealthMetrics: Sendable {
    /// The result of a probe.
    enum ProbeResult: String, CaseIterable {
        /// The origin responded to the probe.
        case answered
        case failed
    }

    private struct Counters {
        let outages: Counter
        /// A counter for each result, in the order of the cases.
        let probes: [Counter]
    }

    private let counters = Mutex<[String: Counters]>([:])
    private let factory: any MetricsFactory
    let labels: OriginLabels

    init(factory: any MetricsFactory, labels: OriginLabels = OriginLabels()) {
        self.factory = factory
        self.labels = labels
    }

    func becameUnreachable(_ origin: Origin) { counters(of: origin).outages.increment() }

    func probed(_ origin: Origin, _ result: ProbeResult) {
        guard let index = ProbeResult.allCases.firstIndex(of: result) else { return }
        counters(of: origin).probes[index].increment()
    }

    private func counters(of origin: Origin) -> Counters {
        let label = labels.label(of: origin.description)
        return counters.withLock { all in
            if let known = all[label] { return known }
            func counter(_ name: String, _ dimensions: [(String, String)] = []) -> Counter {
                Counter(label: name, dimensions: [("origin", label)] + dimensions, factory: factory)
            }
            let made = Counters(
                outages: counter("holdfast_origin_outages_total"),
                probes: ProbeResult.allCases.map {
                    counter("holdfast_origin_probes_total", [("result", $0.rawValue)])
                }
            )
            all[label] = made
            return made
        }
    }
}
