import HTTPCache
import HTTPCacheSemantics
import HoldfastMetrics
import Synchronization

/// Reports what the operations of a cache show: its mode, its origins and its store.
final class OperationsMetrics: MetricsCollector {
    private struct Read {
        var summary: StoreSummary
        var at: Timestamp
    }

    private let operations: any CacheOperations
    private let clock: any WallClock
    private let version: String
    private let latest = Mutex<Read?>(nil)

    /// How old the store's numbers may be, in milliseconds. They are counted over all rows.
    static let longestAge: Int64 = 30_000
    /// The most origins with series of their own.
    static let originLimit = 64

    init(_ operations: any CacheOperations, version: String, clock: any WallClock) {
        self.operations = operations
        self.version = version
        self.clock = clock
    }

    func families() async -> [MetricFamily] {
        [build, mode] + originFamilies + [sequence, reload].compactMap { $0 } + (await storeFamilies())
    }

    private var build: MetricFamily {
        MetricFamily(
            MetricDescription("holdfast_build_info", .gauge, "Always 1. Its labels name the program's version."),
            [MetricSeries([.init("version", version)], .integer(1))]
        )
    }

    private var mode: MetricFamily {
        let present = operations.modeState.value
        return MetricFamily(
            MetricDescription("holdfast_mode", .gauge, "1 for the mode in force, 0 for the others."),
            OfflineMode.allCases.map { MetricSeries([.init("mode", $0.rawValue)], .integer($0 == present ? 1 : 0)) }
        )
    }

    private var originFamilies: [MetricFamily] {
        let origins = operations.origins.prefix(Self.originLimit)
        func family(_ name: String, _ help: String, _ value: (OriginCondition) -> Int) -> MetricFamily {
            MetricFamily(
                MetricDescription(name, .gauge, help),
                origins.map { MetricSeries([.init("origin", $0.origin)], .integer(Int64(value($0)))) }
            )
        }
        return [
            family("holdfast_origin_up", "0 while an origin is treated as unreachable, else 1.") {
                $0.reachability == .unreachable ? 0 : 1
            },
            family("holdfast_origin_in_flight", "Requests to an origin that are under way.") { $0.inFlight },
            family("holdfast_origin_waiting", "Requests that wait for a place at an origin.") { $0.waiting },
        ]
    }

    private var sequence: MetricFamily {
        MetricFamily(
            MetricDescription("holdfast_invalidation_sequence", .gauge, "The number of the last invalidation."),
            [MetricSeries(.integer(operations.invalidationSequence.number))]
        )
    }

    private var reload: MetricFamily? {
        guard let last = operations.configurationStatus.lastReload else { return nil }
        return MetricFamily(
            MetricDescription(
                "holdfast_config_last_reload_successful",
                .gauge,
                "1 if the last reload put the file's configuration into force, else 0."
            ),
            [MetricSeries(.integer(last.outcome == .rejected ? 0 : 1))]
        )
    }

    // MARK: The store

    private func storeFamilies() async -> [MetricFamily] {
        guard let (summary, age) = await store() else { return [] }
        func gauge(_ name: String, _ help: String, _ value: Int64) -> MetricFamily {
            MetricFamily(MetricDescription(name, .gauge, help), [MetricSeries(.integer(value))])
        }
        func states(_ name: String, _ label: String, _ help: String, _ values: [(String, Int64)]) -> MetricFamily {
            MetricFamily(
                MetricDescription(name, .gauge, help),
                values.map { MetricSeries([.init(label, $0.0)], .integer($0.1)) }
            )
        }
        return [
            states(
                "holdfast_store_bytes",
                "kind",
                "Bytes of entries, and bytes on the disk that are in use.",
                [
                    ("entries", summary.storedBytes), ("used", summary.usedBytes),
                ]
            ),
            gauge("holdfast_store_budget_bytes", "The most bytes that the store may take.", summary.budget),
            gauge("holdfast_store_responses", "Stored responses.", Int64(summary.responses)),
            states(
                "holdfast_store_entries",
                "state",
                "Entries in a state; one may be in several.",
                [
                    ("expired", Int64(summary.expired)), ("usable-stale", Int64(summary.usableStale)),
                    ("invalidated", Int64(summary.invalidated)), ("damaged", Int64(summary.damaged)),
                    ("pinned", Int64(summary.pinned)),
                ]
            ),
            MetricFamily(
                MetricDescription("holdfast_store_evictions_total", .counter, "Entries that were evicted."),
                [MetricSeries(.integer(Int64(summary.evicted)))]
            ),
            gauge("holdfast_memory_bytes", "Bytes of entries in memory, about.", summary.residentBytes),
            gauge("holdfast_store_statistics_age_seconds", "How old the numbers about the store are.", age / 1000),
        ]
    }

    /// The store's numbers and their age in milliseconds; `nil` if they cannot be read.
    ///
    /// Two scrapes at once may both count; the lock is not held meanwhile.
    private func store() async -> (StoreSummary, age: Int64)? {
        let now = clock.now()
        if let known = latest.withLock({ $0 }), now >= known.at, now.milliseconds(since: known.at) < Self.longestAge {
            return (known.summary, now.milliseconds(since: known.at))
        }
        guard let summary = try? await operations.summary() else { return nil }
        latest.withLock { $0 = Read(summary: summary, at: now) }
        return (summary, 0)
    }
}
