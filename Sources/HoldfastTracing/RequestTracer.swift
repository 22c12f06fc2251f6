public import CoreMetrics
public import Instrumentation
public import Logging
public import Tracing

/// Creates spans and sends them to a collector through OTLP.
///
/// This `Tracer` for swift-distributed-tracing need not be installed for the whole process, because
/// the gateway passes contexts explicitly. Spans therefore do not need a task.
public final class RequestTracer: Tracer {
    /// The type of this tracer's spans.
    public typealias Span = RecordedSpan

    private let sampler: Sampler
    private let exporter: SpanExporter

    /// - Parameters:
    ///   - version: the version of this program.
    ///   - metrics: counts the spans that could not be exported: `holdfast_spans_dropped_total`.
    public init(_ configuration: TracingConfiguration, version: String, metrics: any MetricsFactory, logger: Logger) {
        sampler = configuration.sampler
        exporter = SpanExporter(configuration, version: version, metrics: metrics, logger: logger)
    }

    /// Exports the queued spans, for up to five seconds, and then stops exporting.
    public func shutDown() async { await exporter.shutDown() }

    /// The number of spans that were dropped.
    package var droppedCount: Int { exporter.droppedCount }

    /// Triggers an export of the queued spans.
    public func forceFlush() { exporter.flush() }

    // MARK: Contexts

    /// Returns the ID of a new trace, or `nil` if the sampler does not sample it.
    package func drawTrace() -> TraceID? {
        if sampler.decision == .off { return nil }
        let trace = TraceID.random()
        return sampler.samples(trace) ? trace : nil
    }

    /// Returns whether a request that arrived with this context gets spans.
    package func samples(below parent: TraceContext) -> Bool { sampler.samples(below: parent) }

    /// Reads a context from fields.
    ///
    /// - Parameter states: the lines of `tracestate`.
    /// - Returns: `nil` unless there is exactly one `traceparent` and it is valid.
    package static func context(traceparents: [String], states: [String]) -> TraceContext? {
        guard traceparents.count == 1, var context = TraceContext(traceparent: traceparents[0]) else { return nil }
        if !states.isEmpty { context.state = TraceState.passing(states.joined(separator: ",")) }
        return context
    }

    /// Returns a `traceparent` for a request that is not recorded.
    package static func unsampledTraceparent() -> String {
        TraceContext(traceID: .random(), spanID: .random(in: 1 ... .max), isSampled: false).traceparent
    }

    /// Returns the context for parts of this trace that are not recorded.
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

    /// Starts the first span of a trace in this process.
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

    // MARK: The swift-distributed-tracing API

    /// Starts a span. If the context has a span, that span is the parent.
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
        // A parent in this process has already decided.
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

    /// Writes `traceparent`, and `tracestate` if it is not empty.
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

    /// The span of this context.
    package var trace: TraceContext? {
        get { self[Key.self] }
        set { self[Key.self] = newValue }
    }
}
