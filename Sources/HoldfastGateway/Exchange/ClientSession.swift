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
    /// The last request, prepared for the cache. The next request reuses it if it has the same
    /// fields.
    var known: GatewayService.KnownRequest?
    /// The client's rights under the current settings.
    private(set) var admission: ClientAdmission

    init(
        service: GatewayService,
        client: GatewayClient,
        executor: LoopExecutor,
        lookups: DiskLookups,
        telemetry: LoopTelemetry,
        hot: HotTable
    ) {
        self.service = service
        self.client = client
        self.executor = executor
        self.lookups = lookups
        self.telemetry = telemetry
        self.hot = hot
        let settings = service.engine.settingsVersion
        admission = ClientAdmission(client, by: service.admission, settings: settings, service.configuration)
    }

    /// Renews the client's rights after the settings have changed.
    func renewAdmission(_ settings: UInt64) {
        admission = ClientAdmission(client, by: service.admission, settings: settings, service.configuration)
    }

    /// The current configuration, and the details that this client may see.
    var responseContext: GatewayService.ResponseContext {
        GatewayService.ResponseContext(service.inForce, admission)
    }
}
