import HTTPCache
package import HTTPCacheOperations
import HTTPCacheSemantics

/// The version and start time of a program with a control plane.
struct ProgramReport: Sendable, Hashable {
    var version: String
    var startedAt: Timestamp
}

/// A gateway's state, as returned by the control plane. Times are RFC 3339 text.
package struct StatusReport: Sendable, Hashable, Codable {
    /// An unreachable origin.
    package struct Unreachable: Sendable, Hashable, Codable {
        /// The origin, such as `https://a.example`.
        package var origin: String
        /// The time since which the origin has been unreachable.
        package var since: String?
    }

    /// The last reload. The errors themselves are left out, because they may quote the file.
    package struct Reload: Sendable, Hashable, Codable {
        /// The outcome: `reloaded`, `rejected` or `no-file`.
        package var outcome: ReloadReport.Outcome
        /// The time when the reload ended, as RFC 3339 text.
        package var at: String
        /// The client that requested the reload.
        package var by: String
        /// The number of errors.
        package var findings: Int
        /// The changed settings that take effect only after a restart: `from` is in effect, `to` is
        /// in the file.
        package var kept: [ReloadReport.Change]

        init(_ report: ReloadReport) {
            outcome = report.outcome
            at = EndTime.text(report.at)
            by = report.client
            findings = report.findings.count
            kept = report.kept
        }
    }

    /// The numbers of ``StoreStatistics`` that operators need most.
    package struct Store: Sendable, Hashable, Codable {
        package var responses: Int
        package var objects: Int
        package var storedBytes: Int64
        package var usedBytes: Int64
        package var budget: Int64
        package var expired: Int
        package var usableStale: Int
        package var invalidated: Int
        package var damaged: Int
        package var pinned: Int
        package var evicted: Int
        package var residentBytes: Int64
        package var readOnly: Bool
        /// The number of databases that were damaged or deleted since the start; `nil` if none.
        package var lostDatabases: Int?
        /// The files of damaged databases that were set aside, at most 10; `nil` if there are none.
        package var setAside: [String]?

        init(_ counted: StoreStatistics) {
            (responses, objects, storedBytes) = (counted.responses, counted.objects, counted.storedBytes)
            (usedBytes, budget, residentBytes) = (counted.usedBytes, counted.budget, counted.residentBytes)
            (expired, usableStale, invalidated) = (counted.expired, counted.usableStale, counted.invalidated)
            (damaged, pinned, evicted) = (counted.damagedEntries, counted.pinned, counted.evictedEntries)
            readOnly = counted.isReadOnly
            if counted.lostDatabases > 0 { lostDatabases = counted.lostDatabases }
            if !counted.setAside.isEmpty { setAside = counted.setAside.prefix(10).map(\.name) }
        }
    }

    /// The source of the configuration.
    package struct Configuration: Sendable, Hashable, Codable {
        /// The path of the configuration file; `nil` if there is none.
        package var file: String?
        /// The time when the configuration in effect was read.
        package var loadedAt: String
        /// The last reload; `nil` if there was none.
        package var lastReload: Reload?
        /// Warnings about settings that weaken protection; `nil` if there are none.
        package var warnings: [String]?
        /// Why files that the configuration names cannot be used now, a sentence each: the first
        /// 100; `nil` if there are none.
        package var rejectedFiles: [String]?
    }

    /// A summary for people: `Serving. https://a.example has been unreachable for 12 min.`
    package var summary: String
    /// The program's version.
    package var version: String
    /// The time when the program started.
    package var startedAt: String
    /// The seconds since the program started.
    package var uptimeSeconds: Int64
    /// The gateway's phase: `starting`, `serving` or `ending`.
    package var phase: String
    /// The host and port where clients connect; `nil` before the gateway listens.
    package var listening: String?
    /// The host and port where clients connect with TLS; `nil` if no listener has TLS.
    package var listeningTLS: String?
    /// The mode and the time when it ends.
    package var mode: ModeReport
    /// The extended staleness limit while origins fail, and the time when the extension ends.
    package var staleness: StalenessReport
    /// The drained servers; `nil` if there are none.
    package var drains: [SwitchReport]?
    /// The number of known origins.
    package var origins: Int
    /// The first 100 unreachable origins.
    package var unreachable: [Unreachable]
    /// The store's condition: `usable`, `readOnly`, `notWritable`, `full`, `evicting`, `replaced`
    /// or `unreadable`.
    package var storeCondition: String
    /// The store's statistics; `nil` if the store cannot be read.
    package var store: Store?
    /// The sequence number of the last invalidation.
    package var invalidationSequence: Int64
    /// The state of the fleet; `nil` if the gateway does not share purges.
    package var fleet: FleetState?
    /// The source of the configuration.
    package var configuration: Configuration

    private static let shownOrigins = 100

    init(
        _ program: ProgramReport,
        _ operations: any CacheOperations,
        _ phase: ServingPhase,
        _ listening: ListeningAddresses,
        _ condition: StoreCondition,
        _ statistics: StoreStatistics?,
        _ fleet: FleetState?,
        outage: OutageReport? = nil,
        at now: Timestamp
    ) {
        let conditions = operations.reportedOrigins
        let away = conditions.filter { $0.reachability == .unreachable }
        let state = operations.modeState
        let settings = operations.configurationStatus
        version = program.version
        startedAt = EndTime.text(program.startedAt)
        uptimeSeconds = max(0, now.milliseconds(since: program.startedAt) / 1000)
        self.phase = phase.rawValue
        self.listening = listening.address
        listeningTLS = listening.addressWithTLS
        let names = SubjectNames(operations)
        mode = ModeReport(state, names)
        drains = names.switches.drains.isEmpty ? nil : DrainsReport(names).drains
        staleness = StalenessReport(operations.stalenessState)
        origins = conditions.count
        unreachable = away.prefix(Self.shownOrigins).map {
            Unreachable(origin: $0.origin, since: $0.since.map(EndTime.text))
        }
        storeCondition = condition.word
        store = statistics.map(Store.init)
        invalidationSequence = operations.invalidationSequence.number
        configuration = Configuration(
            file: settings.file,
            loadedAt: EndTime.text(settings.loadedAt),
            lastReload: settings.lastReload.map(Reload.init),
            warnings: settings.warnings.isEmpty ? nil : settings.warnings,
            rejectedFiles: settings.rejectedFiles.isEmpty
                ? nil : Array(settings.rejectedFiles.prefix(ReloadResult.findingLimit))
        )
        self.fleet = fleet
        let more: [String] = [
            Self.sentence(names, conditions),
            Self.sentence(rejected: settings.rejectedFiles.count),
            store.map { Self.sentence($0) } ?? "",
            Self.sentence(waiting: settings.lastReload?.kept.count ?? 0),
            operations.logLevels.temporary.map { Self.sentence($0) } ?? "",
            fleet.map { Self.sentence($0) } ?? "",
        ]
        summary =
            Self.summary(phase, state, operations.stalenessState, away, outage, condition, settings.lastReload, at: now)
            + more.joined()
    }

    private static func summary(
        _ phase: ServingPhase,
        _ mode: ModeState,
        _ staleness: StalenessState,
        _ away: [OriginCondition],
        _ outage: OutageReport?,
        _ store: StoreCondition,
        _ reload: ReloadReport?,
        at now: Timestamp
    ) -> String {
        var sentences: [String]
        switch phase {
        case .starting: sentences = ["Starting."]
        case .serving: sentences = ["Serving."]
        case .ending: sentences = ["Stopping."]
        }
        if let first = away.min(by: { ($0.since ?? .distantFuture) < ($1.since ?? .distantFuture) }) {
            let time = first.since.map { " for \(duration(now.milliseconds(since: $0)))" } ?? ""
            let served = outage.map(sentence) ?? "stored responses are served"
            sentences.append(
                away.count == 1
                    ? "\(first.origin) has been unreachable\(time); \(served)."
                    : "\(number(Int64(away.count))) origins are unreachable, \(first.origin)\(time); \(served)."
            )
        }
        if let temporary = mode.temporary {
            sentences.append(
                "The mode is \(temporary.value.rawValue) until \(EndTime.text(temporary.until)), then \(mode.configured.rawValue)."
            )
        } else if mode.configured != .automatic {
            sentences.append("The mode is \(mode.configured.rawValue).")
        }
        if let temporary = staleness.temporary {
            sentences.append(
                "While an origin fails, staleness limits are at least \(EndTime.text(seconds: temporary.value.seconds)) until \(EndTime.text(temporary.until))."
            )
        }
        switch store {
        case .usable: break
        case .readOnly: sentences.append("The store is read-only; new responses are not stored.")
        case .readOnlyOnFullDisk:
            sentences.append(
                "The disk was full at the start, so the store is read-only; new responses are not stored. Free some space, then restart."
            )
        case .notWritable: sentences.append("The disk is not writable; new responses are not stored.")
        case .full:
            sentences.append(
                "The disk is full; new responses are not stored, and purges not written, until some space is free."
            )
        case .evicting:
            sentences.append("The disk is full; stored responses are evicted for new ones. Free some space.")
        case .fullOfPins:
            sentences.append(
                "Pinned responses fill the store; new responses are not stored. Raise 'store.budget', or unpin responses."
            )
        case .replaced:
            sentences.append("Another folder replaced the store's folder; restart the gateway to use it.")
        case .unreadable: sentences.append("The store cannot be read.")
        }
        if reload?.outcome == .rejected {
            sentences.append("The last reload was rejected; the previous configuration is in force.")
        }
        return sentences.joined(separator: " ")
    }

    /// Returns text about the effects of an outage so far.
    private static func sentence(_ outage: OutageReport) -> String {
        let refused =
            outage.refused == 1 ? "1 request was rejected" : "\(number(outage.refused)) requests were rejected"
        let count = outage.fromStore
        let served =
            count == 1 ? "1 stale response came from the store" : "\(number(count)) stale responses came from the store"
        let oldest = count > 0 ? "; the oldest response was \(duration(outage.oldestSeconds * 1000)) old" : ""
        return "\(served), \(refused)\(oldest)"
    }

    /// Returns text about modes of origins and routes, and drained servers; empty if there are
    /// none.
    private static func sentence(_ names: SubjectNames, _ origins: [OriginCondition]) -> String {
        var text = ""
        let (switches, missing) = (names.switches, names.missing)
        let modes = switches.modes.filter { !missing.contains($0.subject) }
        if let first = modes.first, let mode = first.mode?.rawValue {
            let others = modes.count - 1
            text += " The mode of \(first.subject) is \(mode) until \(EndTime.text(first.until))"
            text += others == 0 ? "." : ", and \(others) more \(others == 1 ? "origin or route has" : "have") a mode."
        }
        let without = origins.filter(\.isDrained)
        if let first = without.first {
            let others = without.count - 1
            text += " All servers of \(first.origin)"
            text += others == 0 ? "" : " and of \(others) more \(others == 1 ? "origin" : "origins")"
            text += " are drained; only stored responses are served."
        }
        let drains = switches.drains.filter { !missing.contains($0.subject) }
        let drained = drains.count - without.reduce(0) { $0 + $1.servers.count }
        if drained > 0 { text += drained == 1 ? " 1 server is drained." : " \(drained) servers are drained." }
        if let first = switches.all.first(where: { missing.contains($0.subject) }) {
            text += " \(first.withoutEffect)"
            if missing.count > 1 { text += " \(missing.count - 1) more have no effect." }
        }
        return text
    }

    /// Returns text about databases that were lost, with all their responses; empty if there are
    /// none.
    static func sentence(_ store: Store) -> String {
        if let file = store.setAside?.first {
            return " The damaged database '\(file)' was set aside: 'cache-dump recover' copies its intact responses."
        }
        return store.lostDatabases == nil ? "" : " The store's database was deleted; a new, empty one is in use."
    }

    /// Returns text about files that cannot be used; empty if there are none.
    private static func sentence(rejected files: Int) -> String {
        files == 0 ? "" : files == 1 ? " 1 file cannot be used." : " \(files) files cannot be used."
    }

    /// Returns text about changed settings that are not in force; empty if there are none.
    private static func sentence(waiting settings: Int) -> String {
        settings == 0
            ? ""
            : settings == 1 ? " 1 changed setting needs a restart." : " \(settings) changed settings need a restart."
    }

    /// Returns text about a temporary log level.
    private static func sentence(_ level: LogLevels.Temporary) -> String {
        " The log level is \(level.level) until \(EndTime.text(level.until))."
    }

    /// Returns text about problems with sharing between nodes; empty if there are none.
    static func sentence(_ fleet: FleetState) -> String {
        let waiting = number(Int64(fleet.waiting))
        var text = ""
        if fleet.state != "following" {
            text = " Purges from other nodes are not received (\(fleet.state)). Unsent purges of this node: \(waiting)."
        } else if fleet.waiting > 0 {
            text = " Unsent purges of this node: \(waiting)."
        }
        if let unopened = fleet.unopened {
            text += " Purges of other nodes that cannot be opened and are not in force here: \(number(unopened))."
        }
        return text
    }

    /// Returns a number with a comma between groups of three digits, as in the page's tables:
    /// `3,410`.
    static func number(_ value: Int64) -> String {
        let digits = Array(String(value.magnitude))
        let groups = stride(from: digits.count, to: 0, by: -3).map { String(digits[max(0, $0 - 3)..<$0]) }
        return (value < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
    }

    /// Returns a duration as text: `12 min`.
    static func duration(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds / 1000)
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        default: "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
        }
    }
}

extension StoreCondition {
    /// The condition as one word.
    package var word: String {
        switch self {
        case .usable: "usable"
        case .readOnly, .readOnlyOnFullDisk: "readOnly"
        case .notWritable: "notWritable"
        case .full: "full"
        case .evicting: "evicting"
        case .fullOfPins: "fullOfPins"
        case .replaced: "replaced"
        case .unreadable: "unreadable"
        }
    }
}
