import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastMetrics

/// Reports the state of a cache as metrics: its mode, origins, configuration and store.
final class OperationsMetrics: MetricsCollector {
    private let operations: any CacheOperations
    private let clock: any WallClock
    private let program: ProgramBuild
    private let store: StoreWatch

    /// The maximum number of routes whose modes are reported. Other metrics use the same limit for
    /// route names.
    static let routeLimit = 64

    init(
        _ operations: any CacheOperations,
        _ program: ProgramBuild,
        _ store: StoreWatch,
        clock: any WallClock
    ) {
        self.store = store
        self.operations = operations
        self.program = program
        self.clock = clock
    }

    /// `false`, because reading the store's statistics may require a count.
    var isQuick: Bool { false }

    func families() async -> [MetricFamily] {
        [build, mode] + switchFamilies + originFamilies + [sequence] + reloadFamilies + (await storeFamilies())
    }

    // MARK: Families of one kind

    private func one(
        _ name: String,
        _ help: String,
        as kind: MetricDescription.Kind = .gauge,
        _ value: MetricSeries.Value
    ) -> MetricFamily {
        MetricFamily(MetricDescription(name, kind, help), [MetricSeries(value)])
    }

    /// Returns a family with one label.
    private func labelled(
        _ name: String,
        _ help: String,
        as kind: MetricDescription.Kind = .gauge,
        by label: String,
        _ values: [(String, Int64)]
    ) -> MetricFamily {
        MetricFamily(
            MetricDescription(name, kind, help),
            values.map { MetricSeries([.init(label, $0.0)], .integer($0.1)) }
        )
    }

    // MARK: The process

    private var build: MetricFamily {
        var labels = [
            ("version", program.version), ("revision", program.revision), ("swift", ProgramBuild.swift),
        ]
        if let sqlite = program.sqlite { labels.append(("sqlite", sqlite)) }
        return MetricFamily(
            MetricDescription(
                "holdfast_build_info",
                .gauge,
                "Always 1. Labels give the versions of the program and its libraries."
            ),
            [MetricSeries(MetricLabels(labels), .integer(1))]
        )
    }

    private var mode: MetricFamily {
        let present = operations.modeState.value
        // Skip routes with the gateway's own name, because they would produce the same series
        // twice.
        let own = (operations.switches.routeModes + operations.routeModes).filter { $0.route != "all" }
        let strictest = Dictionary(own.map { ($0.route, $0.mode) }) { OfflineMode.leastNetwork($0, $1) }
        var seen: Set<String> = []
        let routes = own.map(\.route).filter { seen.insert($0).inserted }.prefix(Self.routeLimit)
        let modes =
            [("all", present)] + routes.map { ($0, OfflineMode.leastNetwork(present, strictest[$0])) }
        return MetricFamily(
            MetricDescription(
                "holdfast_mode",
                .gauge,
                "1 for the mode in force, 0 for other modes: for the gateway, and for each route with a mode of its own."
            ),
            modes.flatMap { route, inForce in
                OfflineMode.allCases.map { mode in
                    let labels: MetricLabels = [.init("route", route), .init("mode", mode.rawValue)]
                    return MetricSeries(labels, .integer(mode == inForce ? 1 : 0))
                }
            }
        )
    }

    /// Modes of origins and routes, and drains: at most ``Switches/limit`` series, with names from
    /// the configuration.
    private var switchFamilies: [MetricFamily] {
        let all = operations.switches.all
        return [
            labelled(
                "holdfast_switches",
                "Modes of origins and routes, and drained servers, that an operator set.",
                by: "kind",
                ["origin", "route", "server"].map { kind in
                    (kind, Int64(all.filter { $0.subject.kind == kind }.count))
                }
            ),
            MetricFamily(
                MetricDescription(
                    "holdfast_switch_end_timestamp_seconds",
                    .gauge,
                    "Time at which a mode of an origin or a route, or a drain, ends, in seconds since 1970."
                ),
                all.map { one in
                    let labels: MetricLabels = [
                        .init("kind", one.subject.kind), .init("name", one.subject.name),
                        .init("value", one.mode?.rawValue ?? "drained"),
                    ]
                    return MetricSeries(labels, .number(Double(one.until.milliseconds) / 1000))
                }
            ),
        ]
    }

    private var sequence: MetricFamily {
        one(
            "holdfast_invalidation_sequence",
            "Sequence number of the last invalidation.",
            .integer(operations.invalidationSequence.number)
        )
    }

    // MARK: Origins

    private var originFamilies: [MetricFamily] {
        let origins = operations.originNumbers
        func gauge(_ name: String, _ help: String, _ value: (OriginNumbers) -> Int) -> MetricFamily {
            labelled(name, help, by: "origin", origins.map { ($0.label, Int64(value($0))) })
        }
        return [
            gauge("holdfast_origin_up", "0 while an origin counts as unreachable, otherwise 1.") { $0.isUp ? 1 : 0 },
            gauge("holdfast_origin_in_flight", "Requests in flight to an origin.") { $0.inFlight },
            gauge("holdfast_origin_waiting", "Requests waiting for a permit at an origin.") { $0.waiting },
            MetricFamily(
                MetricDescription(
                    "holdfast_origin_outage_seconds_total",
                    .counter,
                    "Seconds during which an origin counted as unreachable, including the current outage."
                ),
                origins.map {
                    MetricSeries([.init("origin", $0.label)], .number(Double($0.outageMilliseconds) / 1000))
                }
            ),
        ]
    }

    // MARK: The configuration

    private var reloadFamilies: [MetricFamily] {
        let status = operations.configurationStatus
        return [
            labelled(
                "holdfast_config_reloads_total",
                "Configuration reloads, by result.",
                as: .counter,
                by: "result",
                ReloadReport.Outcome.allCases.map { ($0.rawValue, Int64(status.reloads[$0] ?? 0)) }
            ),
            one(
                "holdfast_config_last_reload_successful",
                "0 if the last reload was rejected, otherwise 1. Startup counts as a reload.",
                .integer(status.lastReload?.outcome == .rejected ? 0 : 1)
            ),
            one(
                "holdfast_rejected_files",
                "Files, such as secrets and certificates, that cannot be used. Their former content stays in use.",
                .integer(Int64(clamping: status.rejectedFiles.count))
            ),
            one(
                "holdfast_config_last_reload_success_timestamp_seconds",
                "Time the current configuration was read, in seconds since 1970.",
                .number(Double(status.loadedAt.milliseconds) / 1000)
            ),
        ]
    }

    // MARK: The store

    private func storeFamilies() async -> [MetricFamily] {
        let pending = one(
            "holdfast_store_pending_write_bytes",
            "Bytes waiting to be written to the store.",
            .integer(Int64(operations.pendingWriteBytes))
        )
        guard let reading = await store.reading() else { return [pending] }
        let statistics = reading.statistics
        let age = max(0, clock.now().milliseconds(since: reading.at))
        func quota(_ name: String, _ help: String, _ bytes: (QuotaUse) -> Int64) -> MetricFamily {
            labelled(name, help, by: "quota", statistics.quotas.map { ($0.quota, bytes($0)) })
        }
        return [
            pending,
            labelled(
                "holdfast_store_bytes",
                "Bytes of entries, of the database and its write-ahead log, and of free space in the database.",
                by: "kind",
                [
                    ("entries", statistics.storedBytes), ("database", statistics.databaseBytes),
                    ("log", statistics.logBytes), ("free", statistics.freeBytes),
                ]
            ),
            one("holdfast_store_budget_bytes", "Maximum size of the store in bytes.", .integer(statistics.budget)),
            one("holdfast_store_responses", "Stored responses.", .integer(Int64(statistics.responses))),
            states(statistics),
            one(
                "holdfast_store_evictions_total",
                "Entries evicted.",
                as: .counter,
                .integer(Int64(statistics.evictedEntries))
            ),
            one(
                "holdfast_store_evicted_bytes_total",
                "Bytes of evicted entries.",
                as: .counter,
                .integer(statistics.evictedBytes)
            ),
            one(
                "holdfast_store_damaged_reads_total",
                "Store reads that found damaged bytes.",
                as: .counter,
                .integer(Int64(statistics.damagedReads))
            ),
            one(
                "holdfast_store_lost_databases_total",
                "Databases that were set aside as damaged, or deleted while in use.",
                as: .counter,
                .integer(Int64(statistics.lostDatabases))
            ),
            one("holdfast_memory_bytes", "Approximate bytes of entries in memory.", .integer(statistics.residentBytes)),
            one(
                "holdfast_memory_budget_bytes",
                "Maximum bytes of entries in memory.",
                .integer(statistics.memoryBudget)
            ),
            quota("holdfast_quota_bytes", "Bytes of responses that count toward a quota.") { $0.bytes },
            quota("holdfast_quota_limit_bytes", "Maximum bytes of responses that count toward a quota.") { $0.limit },
            one(
                "holdfast_store_statistics_age_seconds",
                "Age of the store's statistics in seconds.",
                .integer(age / 1000)
            ),
        ]
    }

    private func states(_ statistics: StoreStatistics) -> MetricFamily {
        labelled(
            "holdfast_store_entries",
            "Entries by state. Pinned and damaged entries are also counted in another state.",
            by: "state",
            [
                ("fresh", Int64(statistics.fresh)), ("stale", Int64(statistics.stale)),
                ("invalidated", Int64(statistics.invalidated)), ("damaged", Int64(statistics.damagedEntries)),
                ("pinned", Int64(statistics.pinned)),
            ]
        )
    }
}

extension Switch.Subject {
    /// The label `kind`.
    fileprivate var kind: String {
        switch self {
        case .origin: "origin"
        case .route: "route"
        case .server: "server"
        }
    }

    /// The label `name`.
    fileprivate var name: String {
        switch self {
        case .origin(let url): url
        case .route(let name): name
        case .server(let name, let origin): "\(origin) \(name)"
        }
    }
}

extension Switches {
    /// The modes that operators set for routes.
    fileprivate var routeModes: [RouteMode] {
        modes.compactMap { one in
            guard case .route(let name) = one.subject, let mode = one.mode else { return nil }
            return RouteMode(route: name, mode: mode)
        }
    }
}
