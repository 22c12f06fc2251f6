public import Instrumentation
import Synchronization
public import Tracing

/// A span in this process.
public final class RecordedSpan: Span {
    private struct State {
        var name: String
        var attributes: SpanAttributes = [:]
        var isError = false
        var isOver = false
    }

    /// The maximum length, in bytes, of a name or an attribute's string. Longer text is truncated
    /// before it is stored, so that clients cannot fill the queue with long targets.
    package static let textLimit = 1024

    /// The context for child spans.
    public let context: InstrumentationContext
    let place: TraceContext
    private let parent: TraceContext?
    private let kind: SpanKind
    private let start: UInt64
    private let exporter: SpanExporter?
    private let state: Mutex<State>

    /// - Parameter exporter: `nil` for a span that is not recorded.
    init(
        _ name: String,
        _ place: TraceContext,
        below parent: TraceContext?,
        _ kind: SpanKind,
        start: UInt64,
        in context: InstrumentationContext,
        to exporter: SpanExporter?
    ) {
        var context = context
        context.trace = place
        self.context = context
        self.place = place
        self.parent = parent
        self.kind = kind
        self.start = start
        self.exporter = exporter
        state = Mutex(State(name: name.limited(to: Self.textLimit)))
    }

    /// The IDs of the trace and the span in hexadecimal, for logs.
    package var traceText: String { place.traceID.description }
    package var spanText: String { place.spanText }

    /// Whether the span has not ended and will be exported.
    public var isRecording: Bool { exporter != nil && state.withLock { !$0.isOver } }

    /// The span's name. It should have low cardinality.
    public var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue.limited(to: Self.textLimit) } }
    }

    /// The span's attributes.
    public var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set {
            var attributes: SpanAttributes = [:]
            newValue.forEach { attributes.set($0, value: $1.limited) }
            state.withLock { [attributes] in $0.attributes = attributes }
        }
    }

    /// Sets an attribute.
    package func set(_ name: String, _ value: SpanAttribute) {
        state.withLock { $0.attributes.set(name, value: value.limited) }
    }

    /// Marks the span as failed. The reason should have low cardinality.
    package func fail(_ reason: String) {
        state.withLock {
            $0.attributes.set("error.type", value: .string(reason.limited(to: Self.textLimit)))
            $0.isError = true
        }
    }

    /// Records whether the span failed. The message is dropped because it may contain a secret.
    public func setStatus(_ status: SpanStatus) { state.withLock { $0.isError = status.code == .error } }

    /// Does nothing, because the gateway's spans have no events.
    public func addEvent(_ event: SpanEvent) {}

    /// Marks the span as failed, with the type of the error. The error's text may contain a secret.
    public func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) { fail("\(type(of: error))") }

    /// Does nothing, because the gateway's spans have no links.
    public func addLink(_ link: SpanLink) {}

    /// Ends the span and queues it for export. Further calls do nothing.
    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let ended = state.withLock { state -> State? in
            guard !state.isOver else { return nil }
            defer { state.isOver = true }
            return state
        }
        guard let ended, let exporter else { return }
        exporter.add(
            FinishedSpan(
                place: place,
                parent: parent,
                name: ended.name,
                kind: kind,
                start: start,
                end: max(start, instant().nanosecondsSinceEpoch),
                attributes: ended.attributes,
                isError: ended.isError
            )
        )
    }
}

/// A span to export.
struct FinishedSpan: Sendable {
    var place: TraceContext
    var parent: TraceContext?
    var name: String
    var kind: SpanKind
    /// The start, in nanoseconds since 1970. ``end`` has the same unit.
    var start: UInt64
    var end: UInt64
    var attributes: SpanAttributes
    var isError = false
}

extension SpanAttribute {
    /// The value to store and export: numbers are unchanged, and all other values become strings of
    /// limited length.
    fileprivate var limited: SpanAttribute {
        switch self {
        case .bool, .int32, .int64, .double: self
        case .string(let text): .string(text.limited(to: RecordedSpan.textLimit))
        case .stringConvertible(let value): .string(value.description.limited(to: RecordedSpan.textLimit))
        default: .string("\(self)".limited(to: RecordedSpan.textLimit))
        }
    }
}

extension String {
    /// Returns a prefix of at most `limit` bytes.
    fileprivate func limited(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var text = Substring(self)
        text = text.prefix(limit)
        while text.utf8.count > limit { text = text.dropLast() }
        return String(text)
    }
}
