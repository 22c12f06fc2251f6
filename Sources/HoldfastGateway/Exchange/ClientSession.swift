import HTTPCache
import HoldfastTracing
import NIOCore

/// The values that all exchanges of one client's connection share. It is used on the connection's
/// event loop.
final class ClientSession {
    let service: GatewayService
    let client: GatewayClient
    /// Runs the tasks of exchanges, and other work, on the event loop.
    let executor: LoopExecutor
    let lookups: DiskLookups
    let telemetry: LoopTelemetry
    /// The event loop's responses from memory.
    let hot: HotTable
    /// The last request, prepared for the cache. The next request reuses it if it has the same
    /// fields.
    var known: GatewayService.KnownRequest?
    /// The client's traits, and the version of the settings for which they hold.
    private var traits: (value: ClientTraits, settings: UInt64)?

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
    }

    /// Decides for the next request whether it begins a trace that is recorded.
    ///
    /// - Returns: the trace. Then the request is served by an exchange, which makes the span.
    func drawTrace() -> TraceID? { service.tracer?.drawTrace() }

    /// The key of a request of this client in the hot table.
    func hotKey(of head: ByteBuffer) -> HotKey {
        // The version is read before the configuration, so that an earlier value never passes
        // for the present one.
        let settings = service.engine.settingsVersion
        if let traits, traits.settings == settings {
            return HotKey(head, of: traits.value, settings: settings)
        }
        let traits = ClientTraits(client, in: service.configuration)
        self.traits = (traits, settings)
        return HotKey(head, of: traits, settings: settings)
    }

    /// The current configuration, and what this client may see.
    var responseContext: GatewayService.ResponseContext {
        GatewayService.ResponseContext(service.inForce, client)
    }
}
