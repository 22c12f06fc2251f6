import EventLoops
import HTTPCache
import HoldfastTracing
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
    /// The client's traits, with the version of the settings that they are valid for.
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

    /// Decides whether the next request starts a trace that is recorded.
    ///
    /// - Returns: the trace; `nil` if none is recorded. If there is a trace, an exchange must serve
    ///   the request, because exchanges create spans.
    func drawTrace() -> TraceID? { service.tracer?.drawTrace() }

    /// Returns the hot-table key of a request by this client.
    func hotKey(of head: ByteBuffer) -> HotKey {
        // Read the version before the configuration, so that older traits never pass for the
        // current ones.
        let settings = service.engine.settingsVersion
        if let traits, traits.settings == settings {
            return HotKey(head, of: traits.value, settings: settings)
        }
        let traits = ClientTraits(client, in: service.configuration)
        self.traits = (traits, settings)
        return HotKey(head, of: traits, settings: settings)
    }

    /// The current configuration, and the details that this client may see.
    var responseContext: GatewayService.ResponseContext {
        GatewayService.ResponseContext(service.inForce, client)
    }
}
