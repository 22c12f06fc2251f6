import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastTracing
import Logging
import NIOCore
import Synchronization

/// Converts client requests to cache requests, and cache responses to client responses,
/// independently of the client's protocol.
final class GatewayService: Sendable {
    private let current: Mutex<ConfigurationInForce>
    private let instance: UInt32
    let labels: RouteLabels
    let engine: CacheEngine
    let clock: any WallClock
    let logger: Logger
    let unknownHosts: UnknownHostLog
    let admission: Admission
    let health: HealthReporters
    let tasks = ExchangeTasks()
    /// The hosts that clients of the forward proxy chose.
    let chosenHosts = Mutex(ChosenHosts())
    /// `nil` if requests get no spans. Their trace contexts then pass unchanged.
    let tracer: RequestTracer?

    init(
        configuration: GatewayConfiguration,
        engine: CacheEngine,
        instance: UInt32,
        clock: any WallClock,
        logger: Logger,
        admission: Admission = Admission(),
        health: HealthReporters = HealthReporters { _ in .ok },
        tracer: RequestTracer? = nil,
        labels: RouteLabels = RouteLabels()
    ) {
        self.admission = admission
        let checks = admission.guards.checks(of: configuration, logger: logger)
        admission.requestChecks = checks.ofAll
        let inForce = ConfigurationInForce(
            configuration,
            instance: instance,
            labels: labels,
            compressions: admission.compressions,
            routeChecks: checks.ofRoutes
        )
        self.current = Mutex(inForce)
        self.instance = instance
        self.labels = labels
        self.engine = engine
        engine.selectsByScheme = configuration.servesBothSchemes
        engine.clientsScheme = configuration.schemeOfAllClients
        self.clock = clock
        self.logger = logger
        unknownHosts = UnknownHostLog(logger)
        self.health = health
        self.tracer = tracer
    }

    /// The current configuration. Each request reads it once and uses it until its end.
    var inForce: ConfigurationInForce { current.withLock { $0 } }

    var configuration: GatewayConfiguration { inForce.configuration }

    /// Applies a new configuration. The listeners do not change.
    func reconfigure(_ configuration: GatewayConfiguration) {
        var configuration = configuration
        configuration.listeners = self.configuration.listeners
        let checks = admission.guards.checks(of: configuration, logger: logger)
        admission.requestChecks = checks.ofAll
        // A route with 'respond' may be gone, so that clients of another scheme reach the routes.
        // Before they do, stored responses must be selected by scheme.
        if configuration.servesBothSchemes { engine.selectsByScheme = true }
        current.withLock { [configuration] inForce in
            inForce = ConfigurationInForce(
                configuration,
                instance: instance,
                labels: labels,
                compressions: admission.compressions,
                routeChecks: checks.ofRoutes
            )
        }
        engine.clientsScheme = configuration.schemeOfAllClients
        // This also updates the settings version.
        engine.selectsByScheme = configuration.servesBothSchemes
    }

    /// Prepares an exchange's request for the cache without waiting. Returns `nil` if the request
    /// needs another path: it has content, may switch to another protocol, is for the gateway
    /// itself, has a fixed answer, or is rejected. Also returns `nil` if the settings are changing
    /// right now.
    func prepare(_ exchange: ClientExchange) -> PreparedRequest? {
        // Read the version before the configuration. Otherwise a request that was prepared under an
        // earlier configuration could pass for one under the current configuration.
        let version = engine.settingsVersion
        let inForce = inForce
        // An exchange keeps its ID even if the configuration changes.
        exchange.record.requestID = inForce.requestID(of: exchange.request, from: exchange.session.admission)
        guard case nil = inForce.ownResponse(to: exchange.request, from: exchange.session.client) else {
            return nil
        }
        if !exchange.request.upgrade.isNone {
            guard case .ignore = upgradeDecision(for: exchange.request, inForce) else { return nil }
        }
        guard exchange.request.content.isNone,
            let request = try? cacheRequest(for: exchange, inForce, like: &exchange.session.known),
            let prepared = engine.prepare(request), prepared.settingsVersion == version
        else { return nil }
        return prepared
    }

    /// The value of `Date` for a response that has none. RFC 9110 §6.6.1
    var date: String { HTTPDate.format(clock.now()) }
}
