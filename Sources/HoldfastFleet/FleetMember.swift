package import FleetTier
package import HTTPCache
package import HTTPCacheOperations
import Holdfast
package import HoldfastConfiguration
package import Logging
package import OfflineStore
import RedisTier
import Synchronization

/// A store's membership in a fleet, assembled from the `fleet` section of its configuration.
///
/// If the fleet's server is unreachable at startup, sharing starts later.
package final class FleetMember: FleetMembership {
    private let log: RedisLog
    private let sharing: InvalidationSharing
    private let values: RedisValues?
    private let responses: ResponseSharing?
    /// Reread the files of the password, the secrets and TLS.
    private let watches: [FleetFileWatch]
    private let logger: Logger
    /// The level to wait for if a purge does not specify one.
    package let acknowledgedLevel: PurgeLevel

    /// The responses of other nodes, for the cache engine; `nil` if only invalidations are shared.
    package var fleetResponses: (any FleetResponses)? { responses }
    /// The results of peer lookups and offers; `nil` if only invalidations are shared.
    package var valueCounts: FleetValueCounts? { responses?.counts }

    /// Controls when, and for how long, the cache engine may serve fresh responses without
    /// validation.
    package let contact: ContactLease

    /// The state, for metrics and health checks.
    package var status: SharingStatus { sharing.status }

    /// The state, for health reports.
    package var condition: FleetCondition {
        var condition = status.condition
        condition.isStarting = contact.isStarting
        return condition
    }

    /// - Parameters:
    ///   - environment: the environment variables, which may hold secrets.
    ///   - version: the program's version, which other nodes can see.
    /// - Returns: `nil` if nothing is shared.
    /// - Throws: `ConfigurationError` if a secret is missing or too short, the namespace or the
    ///   node's name is missing or invalid, the address is invalid, or a TLS file cannot be used.
    ///   Nothing is connected in this case.
    package init?(
        _ file: HoldfastConfiguration.Configuration,
        store: CacheManager,
        environment: [String: String],
        version: String,
        logger: Logger
    ) throws {
        guard let parts = try FleetParts(file, environment: environment) else { return nil }
        let (namespace, node) = (parts.namespace, parts.node)
        (self.logger, acknowledgedLevel) = (logger, file.fleet.acknowledge)
        let connector = try parts.makeConnector(file, as: "holdfast-\(node)")
        // A node receives purges within a second after the server is reachable again.
        var policy = SupervisorPolicy()
        policy.longestPause = .milliseconds(500)
        let news = FailureNews(logger)
        let contact = ContactLease(file.fleet.cutOff == .validate ? .whileConfirmed : .fromStart)
        self.contact = contact
        log = RedisLog(
            connector,
            namespace: namespace,
            policy: policy,
            clock: ContinuousClock(),
            random: { Double.random(in: 0..<1) },
            onFailure: { error in
                news.reportOfLog(error)
                // Startup does not wait for an unavailable server.
                contact.endStart()
            }
        )
        let purges = file.fleet.share == .responses ? PurgeView() : nil
        let values = purges.map { _ in
            RedisValues(
                connector,
                policy: policy,
                clock: ContinuousClock(),
                random: { Double.random(in: 0..<1) },
                onFailure: { news.report($0) }
            )
        }
        self.values = values
        let responses = purges.flatMap { purges in
            values.map { values in
                ResponseSharing(
                    values: values,
                    purges: purges,
                    log: store.invalidationLog,
                    store: store.responses,
                    keys: parts.keys,
                    namespace: namespace,
                    settings: ResponseSharing.Settings(file.fleet),
                    logger: logger
                )
            }
        }
        self.responses = responses
        let sharing = InvalidationSharing(
            log: store.invalidationLog,
            engine: log,
            sealer: LogSealer(keys: parts.keys, namespace: namespace),
            settings: Self.settings(file.fleet, parts, version, contact),
            purges: purges,
            status: news.status,
            logger: logger
        )
        self.sharing = sharing
        watches = FleetFileWatch.all(of: file, parts, connector, environment, logger) { keys in
            sharing.replaceSealer(with: LogSealer(keys: keys, namespace: namespace))
            responses?.replaceKeys(with: keys)
        }
    }

    private static func settings(
        _ fleet: HoldfastConfiguration.Configuration.Fleet,
        _ parts: FleetParts,
        _ version: String,
        _ contact: ContactLease
    ) -> InvalidationSharing.Settings {
        var settings = InvalidationSharing.Settings(
            namespace: parts.namespace,
            node: parts.node,
            version: version,
            timeout: fleet.timeout,
            quorum: fleet.quorum,
            retention: (fleet.retentionTime, fleet.retentionEntries)
        )
        settings.lease = fleet.lease
        settings.contact = contact
        settings.cutOff = fleet.cutOff == .validate ? .validate : .serve
        return settings
    }

    /// Sets where this node stores the responses to the URLs that clients request. Call this before
    /// ``run()``.
    package func resolve(by places: any OriginURLFinding) { sharing.resolve(by: places) }

    /// Starts journaling the store's purges. Call this before anything can purge.
    package func join() async {
        do {
            try await sharing.join()
        } catch {
            logger.warning(
                "the store cannot join the fleet log yet; its purges reach the other nodes once it can",
                metadata: ["error": "\(error)"]
            )
        }
    }

    /// Shares purges and responses until the task is canceled. Call this once.
    package func run() async {
        await withTaskGroup { group in
            group.addTask { await self.log.run() }
            group.addTask { await self.sharing.run() }
            if let values = self.values { group.addTask { await values.run() } }
            if let responses = self.responses { group.addTask { await responses.run() } }
            for watch in self.watches { group.addTask { await watch.run() } }
        }
    }

    /// Rereads the files of `fleet`, and uses those that changed.
    package func rereadFiles() { for watch in watches { watch.reload() } }

    /// Why files cannot be used now, a sentence each. Their former content stays in use.
    package var rejectedFiles: [String] { watches.compactMap(\.problem) }

    /// Ends the membership cleanly. Call this before closing the store.
    package func end() async { await sharing.end() }

    /// Waits until the purges that were requested at this node have reached a level.
    package func reach(_ level: PurgeLevel, within limit: Duration) async -> PurgeReach {
        await sharing.reach(level, within: limit)
    }

    /// Returns this node and the other nodes.
    package func fleet() async -> FleetState { await sharing.fleet() }

    /// Reads the files and settings that a membership needs, without connecting.
    ///
    /// - Throws: see ``init(_:store:environment:version:logger:)``.
    package static func check(
        _ file: HoldfastConfiguration.Configuration,
        environment: [String: String]
    ) throws {
        // The connector compares the address with the other settings.
        _ = try FleetParts(file, environment: environment)?.makeConnector(file, as: "holdfast-check")
    }
}

/// Logs why the server cannot be reached, once for each new reason. Attempts continue until one
/// succeeds, and usually fail for the same reason.
private final class FailureNews: Sendable {
    /// The state of the log, which has the last reason.
    let status = SharingStatus()
    private let last = Mutex<String?>(nil)
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    func reportOfLog(_ error: RedisTierError) {
        status.noteConnectionFailure(error.message)
        report(error)
    }

    func report(_ error: RedisTierError) {
        let reason = "\(error)"
        let isNews = last.withLock { last in
            defer { last = reason }
            return last != reason
        }
        if isNews { logger.warning("the fleet log is unreachable: \(reason)") }
    }
}

extension ResponseSharing.Settings {
    fileprivate init(_ fleet: HoldfastConfiguration.Configuration.Fleet) {
        self.init()
        timeout = fleet.timeout
        largestBody = Int(clamping: fleet.largestBody)
        longest = fleet.longest
        wait = fleet.collapseWait
        lease = fleet.collapseLease
    }
}
