import HTTPTypes
import HoldfastTracing
import Instrumentation
import Tracing

/// The place of a client's request in a trace, if it has one.
///
/// The span is made and ended here, and not by a task, because most requests have none. Its context
/// goes to the transport with the engine's request (`CacheRequest.context`), so that it is neither
/// in the key nor in the store.
struct RequestTrace: Sendable {
    /// `nil` if the request is not recorded.
    let span: RecordedSpan?
    /// The context of what is sent for the request; `nil` if it belongs to no trace, or passes as
    /// it came.
    let context: InstrumentationContext?
    /// Whether the client's fields end here: there is a context to put in their place, or they are
    /// not valid. It depends on the client and the fields alone, for requests that have some.
    let dropsFields: Bool

    /// For a gateway without traces.
    static var none: RequestTrace { RequestTrace(dropsFields: false) }

    private init(dropsFields: Bool) {
        span = nil
        context = nil
        self.dropsFields = dropsFields
    }

    /// - Parameter drawn: the trace that the request begins, unless it belongs to one.
    init(_ request: GatewayRequest, of session: ClientSession, _ tracer: RequestTracer, drawn: TraceID?) {
        let traceparents = request.fields[values: .traceparent]
        let parent =
            traceparents.isEmpty
            ? nil
            : RequestTracer.context(traceparents: traceparents, states: request.fields[values: .tracestate])
        var trace = drawn
        var isTrusted = false
        if let parent {
            isTrusted = session.client.isTrusted(by: session.service.configuration)
            // Others do not decide how much is recorded, here and at the origin. They choose the
            // ID of the trace, so it is not asked either.
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
        // A query may have credentials.
        span.set("url.path", .string(String(request.target.prefix { $0 != "?" })))
        span.set("network.protocol.version", .string(request.receivedProtocol.version))
        if let host = request.authority {
            span.set("server.address", .string(host.name))
            if let port = host.port { span.set("server.port", .int(Int64(port))) }
        }
        self.span = span
        context = span.context
    }

    /// Takes down the route, once it is known.
    func take(_ route: GatewayRoute, of method: HTTPRequest.Method) {
        guard let span else { return }
        span.set("http.route", .string(route.path))
        span.operationName = "\(method.traced ?? "HTTP") \(route.path)"
    }

    /// Takes down the response's head.
    func take(_ status: Int, _ cacheStatus: String) {
        guard let span else { return }
        span.set("http.response.status_code", .int(Int64(status)))
        span.set("cache.status", .string(cacheStatus))
        if status >= 500 { span.fail("\(status)") }
    }

    /// - Parameter abort: why the response did not reach its end; `nil` if it did.
    func end(_ abort: ExchangeRecord.Abort?) {
        guard let span else { return }
        if let abort { span.fail(abort.rawValue) }
        span.end()
    }
}

extension HTTPRequest.Method {
    /// Its name, if it is a known one: clients can invent others without end.
    var traced: String? {
        switch rawValue {
        case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PURGE": rawValue
        default: nil
        }
    }
}
