import CommandLineSupport
import FleetTier
import Foundation
import HTTPCache
import Holdfast
import HoldfastConfiguration
import HoldfastFleet
import HoldfastMetrics
import Logging
import OfflineStore

extension GatewayProcess {
    /// Creates the gateway's membership in a fleet, or returns `nil` if nothing is shared.
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
            version: Release.version,
            logger: logger
        )
        if let member { metrics.add(SharingMetrics(status: member.status)) }
        if let counts = member?.valueCounts { metrics.add(FleetValueMetrics(counts: counts)) }
        return member
    }
}

/// The metrics of purge sharing in a fleet.
private struct SharingMetrics: MetricsCollector {
    let status: SharingStatus

    func families() async -> [MetricFamily] {
        let counts = status.counts
        func counter(_ name: String, _ help: String, _ count: Int) -> MetricFamily {
            let description = MetricDescription("holdfast_fleet_\(name)_total", .counter, help)
            return MetricFamily(description, [MetricSeries(.integer(Int64(clamping: count)))])
        }
        func gauge(_ name: String, _ help: String, _ value: Double) -> MetricFamily {
            let description = MetricDescription("holdfast_fleet_\(name)", .gauge, help)
            return MetricFamily(description, [MetricSeries(.number(value))])
        }
        return [
            gauge(
                "state",
                "State of the connection to the fleet log: 1 connecting, 2 catching up, 3 following, 4 cut off.",
                Double(status.state.rawValue)
            ),
            gauge(
                "contact_age_seconds",
                "Time since the fleet log last responded; -1 if it never did.",
                status.contactAge.map { $0 / .seconds(1) } ?? -1
            ),
            gauge("outbox", "Purges of this node that are not in the fleet log yet.", Double(status.waiting)),
            gauge(
                "unopened",
                "Entries of the fleet log that are not in force because they are sealed with another secret.",
                Double(status.unopened)
            ),
            gauge("namesakes", "Other nodes with the same name as this node.", Double(status.namesakes.count)),
            counter("applied", "Purges of other nodes that this node applied.", counts.applied),
            counter("published", "Purges that this node wrote to the fleet log.", counts.published),
            counter("gaps", "Times this node may have missed purges of other nodes.", counts.gaps),
            counter("epochs", "Epochs of the fleet log that began.", counts.epochs),
            counter(
                "unreadable",
                "Entries of the fleet log that are damaged or not from this fleet.",
                counts.unreadable
            ),
            counter("failures", "Times the fleet log could not be used.", counts.failures),
        ]
    }
}

/// The metrics of the responses that a fleet shares.
private struct FleetValueMetrics: MetricsCollector {
    let counts: FleetValueCounts

    func families() async -> [MetricFamily] {
        func family(
            _ name: String,
            _ help: String,
            _ events: KeyValuePairs<String, FleetValueCounts.Event>
        ) -> MetricFamily {
            MetricFamily(
                MetricDescription("holdfast_fleet_\(name)_total", .counter, help),
                events.map { result, event in
                    MetricSeries([.init("result", result)], .integer(Int64(clamping: counts[event])))
                }
            )
        }
        return [
            family(
                "lookups",
                "Peer lookups, by result.",
                [
                    "hit": .hit, "miss": .miss, "purged": .old, "poisoned": .poisoned, "incomplete": .incomplete,
                    "timeout": .timedOut, "away": .away,
                ]
            ),
            family(
                "offers",
                "Responses offered to other nodes, by result.",
                ["put": .put, "older": .older, "dropped": .dropped, "failed": .failed]
            ),
            family(
                "leases",
                "Requests that one node sends for all nodes, by result.",
                ["lead": .led, "waited": .waited, "expired": .expired, "pass": .passed]
            ),
            MetricFamily(
                MetricDescription(
                    "holdfast_fleet_sent_bytes_total",
                    .counter,
                    "Bytes of responses offered to other nodes."
                ),
                [MetricSeries(.integer(Int64(clamping: counts.bytesSent)))]
            ),
        ]
    }
}
