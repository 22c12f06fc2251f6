import HoldfastTracing

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
    /// Whether the next request begins a trace, if that is decided already.
    private var drawn: TraceDraw?

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

    /// Decides whether the next request begins a trace that is recorded, unless its client says so.
    ///
    /// - Returns: whether it does. Then it is served by an exchange, which makes the span.
    func drawsTrace() -> Bool {
        guard let tracer = service.tracer else { return false }
        let draw = TraceDraw(trace: tracer.drawTrace())
        drawn = draw
        return draw.trace != nil
    }

    /// The request for which ``drawsTrace()`` decided has been served without an exchange.
    func forgetDrawnTrace() { drawn = nil }

    /// The new trace of the current request; `nil` if it gets none.
    func takeDrawnTrace(_ tracer: RequestTracer) -> TraceID? {
        (drawn.take() ?? TraceDraw(trace: tracer.drawTrace())).trace
    }

    /// The current configuration, and what this client may see.
    var responseContext: GatewayService.ResponseContext {
        GatewayService.ResponseContext(service.inForce, client)
    }
}

/// A decision of the sampler.
private struct TraceDraw {
    /// The new trace; `nil` if there is to be none.
    var trace: TraceID?
}
