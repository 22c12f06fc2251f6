import Foundation
import HTTPCache
import Holdfast
import HoldfastMetrics
import Logging
import OfflineStore
import SharedTier

extension GatewayProcess {
    /// The gateway's membership in a fleet; `nil` if nothing is shared.
    static func makeMember(
        _ settings: ServeSettings,
        _ store: CacheManager,
        _ metrics: MetricsRegistry,
        _ logger: Logger
    ) throws -> FleetMember? {
        let member = try FleetMember(
            settings.file,
            store: store,
            environment: ProcessInfo.processInfo.environment,
            version: HoldfastCommand.version,
            logger: logger
        )
        if let member { metrics.add(SharingMetrics(status: member.status)) }
        if let counts = member?.valueCounts { metrics.add(SharedValueMetrics(counts: counts)) }
        return member
    }
}

/// The metrics of what a fleet shares.
private struct SharingMetrics: MetricsCollector {
    let status: SharingStatus

    func families() async -> [MetricFamily] {
        let counts = status.counts
        func counter(_ name: String, _ help: String, _ count: Int) -> MetricFamily {
            let description = MetricDescription("holdfast_shared_\(name)_total", .counter, help)
            return MetricFamily(description, [MetricSeries(.integer(Int64(clamping: count)))])
        }
        func gauge(_ name: String, _ help: String, _ value: Double) -> MetricFamily {
            let description = MetricDescription("holdfast_shared_\(name)", .gauge, help)
            return MetricFamily(description, [MetricSeries(.number(value))])
        }
        return [
            gauge(
                "state",
                "The state towards the shared log: 1 connecting, 2 reading what it missed, 3 following, 4 cut off.",
                Double(status.state.rawValue)
            ),
            gauge(
                "contact_age_seconds",
                "The time since the shared log last answered; -1 if it never did.",
                status.contactAge.map { $0 / .seconds(1) } ?? -1
            ),
            gauge("outbox", "Purges of this node that the shared log has not got yet.", Double(status.waiting)),
            gauge(
                "unopened",
                "Entries of the shared log that are not in force, because another secret has sealed them.",
                Double(status.unopened)
            ),
            gauge("namesakes", "Other nodes with this one's name.", Double(status.namesakes.count)),
            counter("applied", "Purges of other nodes that were put in force.", counts.applied),
            counter("published", "Purges that were written to the shared log.", counts.published),
            counter("gaps", "Times at which purges of other nodes may have been missed.", counts.gaps),
            counter("epochs", "Epochs of the shared log that began.", counts.epochs),
            counter(
                "unreadable",
                "Entries of the shared log that are none of this fleet, or are damaged.",
                counts.unreadable
            ),
            counter("failures", "Times at which the shared log could not be used.", counts.failures),
        ]
    }
}

/// The metrics of the responses that a fleet shares.
private struct SharedValueMetrics: MetricsCollector {
    let counts: SharedValueCounts

    func families() async -> [MetricFamily] {
        func family(
            _ name: String,
            _ help: String,
            _ events: KeyValuePairs<String, SharedValueCounts.Event>
        ) -> MetricFamily {
            MetricFamily(
                MetricDescription("holdfast_shared_\(name)_total", .counter, help),
                events.map { result, event in
                    MetricSeries([.init("result", result)], .integer(Int64(clamping: counts[event])))
                }
            )
        }
        return [
            family(
                "lookups",
                "Looks for responses of other nodes, by result.",
                [
                    "hit": .hit, "miss": .miss, "purged": .old, "poisoned": .poisoned, "incomplete": .incomplete,
                    "timeout": .timedOut, "away": .away,
                ]
            ),
            family(
                "offers",
                "Responses for other nodes, by result.",
                ["put": .put, "older": .older, "dropped": .dropped, "failed": .failed]
            ),
            family(
                "leases",
                "Requests that one node makes for all, by result.",
                ["lead": .led, "waited": .waited, "expired": .expired, "pass": .passed]
            ),
            MetricFamily(
                MetricDescription("holdfast_shared_sent_bytes_total", .counter, "Bytes of responses for other nodes."),
                [MetricSeries(.integer(Int64(clamping: counts.bytesSent)))]
            ),
        ]
    }
}
