import EventLoops
import HTTPCache
import NIOCore

/// The values that all exchanges on one client connection share. Used on the connection's event
/// loop.
final class ClientSession {
    let service: GatewayService
    let client: GatewayClient
    /// Runs exchanges' tasks and other work on the event loop.
    let executor: LoopExecutor
    let lookups: DiskLookups
    let telemetry: LoopTelemetry
    /// The event loop's in-memory responses.
    let hot: HotTable
    /// The origins that requests may name, if the gateway is the proxy of a command.
    let scope: ProxyScope?
    /// The last request, prepared for the cache. The next request reuses it if it has the same
    /// fields.
    var known: GatewayService.KnownRequest?
    /// The client's rights under the current settings.
    private(set) var admission: ClientAdmission
    /// The route whose checks were asked last, and its checks of this client.
    private var routeChecks: (route: RouteChecks, requests: ClientChecks)?

    init(
        service: GatewayService,
        client: GatewayClient,
        executor: LoopExecutor,
        lookups: DiskLookups,
        telemetry: LoopTelemetry,
        hot: HotTable,
        scope: ProxyScope? = nil
    ) {
        self.service = service
        self.client = client
        self.executor = executor
        self.lookups = lookups
        self.telemetry = telemetry
        self.hot = hot
        self.scope = scope
        let settings = service.engine.settingsVersion
        admission = ClientAdmission(client, by: service.admission, settings: settings, service.configuration)
    }

    /// Renews the client's rights after the settings have changed.
    func renewAdmission(_ settings: UInt64) {
        admission = ClientAdmission(client, by: service.admission, settings: settings, service.configuration)
        routeChecks = nil
    }

    /// Asks a route's checks about a request of the connection's client.
    ///
    /// - Returns: the problem that the client gets; `nil` if the request passes.
    func problem(on route: RouteChecks, at now: NIODeadline) -> Problem? {
        if let known = routeChecks, known.route === route { return known.requests.firstProblem(at: now) }
        let requests = route.requests(of: client.ownAddress)
        routeChecks = (route, requests)
        return requests.firstProblem(at: now)
    }

    /// The current configuration, and the details that this client may see.
    var responseContext: GatewayService.ResponseContext {
        GatewayService.ResponseContext(service.inForce, admission)
    }
}
