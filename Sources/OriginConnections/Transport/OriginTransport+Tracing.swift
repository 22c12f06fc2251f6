import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastTracing
import Instrumentation
import Tracing

extension OriginTransport {
    /// Returns the request with its trace context, and its span. The span ends with the response's
    /// head.
    ///
    /// A probe has no span, because the trace of the request that it repeats has ended.
    ///
    /// The fields are written here, below the cache, so that they are not stored and do not select
    /// a variant.
    func traced(_ request: TransportRequest) -> (TransportRequest, RecordedSpan?) {
        guard let tracer else { return (request, nil) }
        var request = request
        guard !request.isProbe, let context = request.context as? InstrumentationContext else {
            // Without a context, the origin would decide for itself and start its own trace.
            if !request.head.headerFields.contains(.traceparent) {
                request.changeFields {
                    FieldInjector().inject(RequestTracer.unsampledTraceparent(), forKey: "traceparent", into: &$0)
                }
            }
            return (request, nil)
        }
        let method = request.head.method.traced
        let span = tracer.startSpan(method ?? "HTTP", context: context, ofKind: .client)
        span.set("http.request.method", .string(method ?? "_OTHER"))
        if let target = request.target ?? TargetURI(request: request.head) {
            span.set("server.address", .string(target.host))
            span.set("server.port", .int(Int64(target.port)))
            span.set("url.scheme", .string(target.scheme))
        }
        request.changeFields { tracer.inject(span.context, into: &$0, using: FieldInjector()) }
        return (request, span)
    }
}

extension TransportRequest {
    /// Changes the fields, which do not affect the target. Setting the whole head would discard the
    /// target.
    fileprivate mutating func changeFields(_ change: (inout HTTPFields) -> Void) {
        let target = target
        change(&head.headerFields)
        self.target = target
    }
}

private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        if let name = HTTPField.Name(key) { fields[name] = value }
    }
}

extension RecordedSpan {
    /// Records the result of a request to an origin.
    func take(_ result: Result<CallbackResponse, any Error>) {
        let status: Int
        switch result {
        case .success(.response(let response)): status = response.head.status.code
        case .success(.relayed(let response)): status = response.status
        case .failure(let error): return fail((error as? TransportError)?.code.description ?? "cancelled")
        }
        set("http.response.status_code", .int(Int64(status)))
        if status >= 400 { fail("\(status)") }
    }
}
