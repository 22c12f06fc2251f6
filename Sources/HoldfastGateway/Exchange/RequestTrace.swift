import GatewayRouting
import HTTPTypes
import HTTPWire
import HoldfastTracing
import Instrumentation
import Tracing

/// A client request's position in a trace, if it has one.
///
/// The span is started and ended here instead of in a task, because most requests have no task. The
/// span's context goes to the transport with the engine's request (`CacheRequest.context`), so it
/// is neither in the key nor in the store.
struct RequestTrace: Sendable {
    /// `nil` if the request is not recorded.
    let span: RecordedSpan?
    /// The context to send to the origin; `nil` if the request belongs to no trace, or its fields
    /// pass unchanged.
    let context: InstrumentationContext?
    /// Whether the client's fields are dropped: a context replaces them, or they are invalid. For
    /// requests that have such fields, it depends only on the client and the fields.
    let dropsFields: Bool

    /// For a gateway without tracing.
    static var none: RequestTrace { RequestTrace(dropsFields: false) }

    private init(dropsFields: Bool) {
        span = nil
        context = nil
        self.dropsFields = dropsFields
    }

    /// - Parameter drawn: the trace that the request starts, unless it already belongs to one.
    init(_ request: GatewayRequest, of session: ClientSession, _ tracer: RequestTracer, drawn: TraceID?) {
        let traceparents = request.fields[values: .traceparent]
        let parent =
            traceparents.isEmpty
            ? nil
            : RequestTracer.context(traceparents: traceparents, states: request.fields[values: .tracestate])
        var trace = drawn
        var isTrusted = false
        if let parent {
            isTrusted = session.admission.isTrusted(by: session.service.configuration)
            // Untrusted clients do not decide how much is recorded, here or at the origin. They
            // choose the trace ID, so the ID is not used for sampling either.
            trace = (isTrusted ? tracer.samples(below: parent) : drawn != nil) ? parent.traceID : nil
        }
        dropsFields = !isTrusted || trace != nil
        guard let trace else {
            span = nil
            context = isTrusted ? nil : parent.map { RequestTracer.unsampledContext(below: $0) }
            return
        }
        let method = request.method.traced
        let span = tracer.startSpan(method ?? "HTTP", of: .server, in: trace, below: parent)
        span.set("http.request.method", .string(method ?? "_OTHER"))
        span.set("url.scheme", .string(session.client.scheme))
        if let version = session.client.tlsVersion { span.set("tls.protocol.version", .string(version)) }
        // A query may contain credentials.
        span.set("url.path", .string(String(request.target.prefix { $0 != "?" })))
        span.set("network.protocol.version", .string(request.receivedProtocol.version))
        if let host = request.authority {
            span.set("server.address", .string(host.name))
            if let port = host.port { span.set("server.port", .int(Int64(port))) }
        }
        self.span = span
        context = span.context
    }

    /// Records the route, once it is known.
    func take(_ route: GatewayRoute, of method: HTTPRequest.Method) {
        guard let span else { return }
        span.set("http.route", .string(route.path))
        span.operationName = "\(method.traced ?? "HTTP") \(route.path)"
    }

    /// Ends the span with the result of the request.
    func end(_ record: ExchangeRecord) {
        guard let span else { return }
        if let status = record.status {
            span.set("http.response.status_code", .int(Int64(status)))
            if status >= 500 { span.fail("\(status)") }
        }
        if let cacheStatus = record.cacheStatus { span.set("cache.status", .string(cacheStatus)) }
        if let abort = record.abort { span.fail(abort.rawValue) }
        span.end()
    }
}
