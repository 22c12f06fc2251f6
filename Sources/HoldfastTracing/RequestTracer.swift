public import CoreMetrics
public import Instrumentation
public import Logging
public import Tracing

/// Makes spans, and sends them to a collector by OTLP.
///
/// It is a `Tracer` of swift-distributed-tracing that need not be installed for the whole process:
/// the gateway passes the contexts on itself. So no task is needed for a span.
public final class RequestTracer: Tracer {
    /// Its spans.
    public typealias Span = RecordedSpan

    private let sampler: Sampler
    private let exporter: SpanExporter

    /// - Parameters:
    ///   - version: of this program.
    ///   - metrics: counts the spans that could not be sent: `holdfast_spans_dropped_total`.
    public init(_ configuration: TracingConfiguration, version: String, metrics: any MetricsFactory, logger: Logger) {
        sampler = configuration.sampler
        exporter = SpanExporter(configuration, version: version, metrics: metrics, logger: logger)
    }

    /// Sends what waits, for five seconds at most, and no more afterwards.
    public func shutDown() async { await exporter.shutDown() }

    /// The number of spans that were dropped.
    public var droppedCount: Int { exporter.droppedCount }

    /// Has the spans that wait sent soon.
    public func forceFlush() { exporter.flush() }

    // MARK: Contexts

    /// A new trace; `nil` if the sampler wants none here.
    package func drawTrace() -> TraceID? {
        if sampler.decision == .off { return nil }
        let trace = TraceID.random()
        return sampler.samples(trace) ? trace : nil
    }

    /// Whether a request that came with this context gets spans.
    package func samples(below parent: TraceContext) -> Bool { sampler.samples(below: parent) }

    /// Reads a context from fields.
    ///
    /// - Parameter states: the lines of `tracestate`.
    /// - Returns: `nil` if there is not one valid `traceparent`.
    package static func context(traceparents: [String], states: [String]) -> TraceContext? {
        guard traceparents.count == 1, var context = TraceContext(traceparent: traceparents[0]) else { return nil }
        if !states.isEmpty { context.state = TraceState.passing(states.joined(separator: ",")) }
        return context
    }

    /// A `traceparent` that says of a request that it is not recorded.
    package static func unsampledTraceparent() -> String {
        TraceContext(traceID: .random(), spanID: .random(in: 1 ... .max), isSampled: false).traceparent
    }

    /// The context for what belongs to this trace and is not recorded.
    package static func unsampledContext(below parent: TraceContext) -> InstrumentationContext {
        var context = InstrumentationContext.topLevel
        context.trace = TraceContext(
            traceID: parent.traceID,
            spanID: parent.spanID,
            isSampled: false,
            state: parent.state
        )
        return context
    }

    /// Begins the first span of a trace in this process.
    package func startSpan(_ name: String, of kind: SpanKind, in trace: TraceID, below parent: TraceContext?) -> Span {
        let place = TraceContext(
            traceID: trace,
            spanID: .random(in: 1 ... .max),
            isSampled: true,
            state: parent?.state ?? ""
        )
        return RecordedSpan(
            name,
            place,
            below: parent,
            kind,
            start: DefaultTracerClock.now.nanosecondsSinceEpoch,
            in: .topLevel,
            to: exporter
        )
    }

    // MARK: The API of swift-distributed-tracing

    /// Begins a span, below the one of the context if that has one.
    public func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> InstrumentationContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> RecordedSpan {
        let context = context()
        let parent = context.trace
        let trace = parent?.traceID ?? .random()
        // A parent in this process has decided already.
        let isSampled = parent.map { $0.isRemote ? samples(below: $0) : $0.isSampled } ?? sampler.samples(trace)
        let place = TraceContext(
            traceID: trace,
            spanID: .random(in: 1 ... .max),
            isSampled: isSampled,
            state: parent?.state ?? ""
        )
        return RecordedSpan(
            operationName,
            place,
            below: parent,
            kind,
            start: instant().nanosecondsSinceEpoch,
            in: context,
            to: isSampled ? exporter : nil
        )
    }

    /// Reads `traceparent` and `tracestate`.
    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout InstrumentationContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let traceparent = extractor.extract(key: "traceparent", from: carrier) else { return }
        let state = extractor.extract(key: "tracestate", from: carrier)
        guard let read = Self.context(traceparents: [traceparent], states: state.map { [$0] } ?? []) else { return }
        context.trace = read
    }

    /// Writes `traceparent`, and `tracestate` if there is one.
    public func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
        if !trace.state.isEmpty { injector.inject(trace.state, forKey: "tracestate", into: &carrier) }
    }
}

extension InstrumentationContext {
    private enum Key: InstrumentationContextKey {
        typealias Value = TraceContext
    }

    /// The span to which this context belongs.
    package var trace: TraceContext? {
        get { self[Key.self] }
        set { self[Key.self] = newValue }
    }
}
