import HTTPTypes
import Hummingbird

/// Applies the behavior that was forced on a request, if any.
struct BehaviorMiddleware: RouterMiddleware {
    let script: BehaviorScript

    @concurrent func handle(
        _ request: Request,
        context: OriginContext,
        next: @concurrent (Request, OriginContext) async throws -> Response
    ) async throws -> Response {
        guard let behavior = script.next(path: request.uri.path) else { return try await next(request, context) }
        switch behavior.kind {
        case .status(let code, let fields):
            var response = try Response.failure(status: code)
            response.set(fields)
            return response
        case .respond(let status, let fields, let body):
            var response = Response(
                status: HTTPResponse.Status(code: status),
                body: ResponseBody(byteBuffer: ByteBuffer(string: body))
            )
            response.set(fields)
            return response
        case .hangUp(let reset):
            try await hangUp(context.channel, reset: reset)
        case .hold(let gate):
            try await gate.pass()
            return try await next(request, context)
        case .setFields(let fields):
            var response = try await next(request, context)
            response.set(fields)
            return response
        case .truncate(let count):
            return try await next(request, context).interrupted(after: count, by: .closing)
        case .holdBody(let steps):
            return try await steps.reduce(next(request, context)) { response, step in
                response.interrupted(after: step.after, by: .waiting(step.gate))
            }
        }
    }
}

extension Response {
    /// Sets fields, and removes fields whose new value is empty. Skips invalid field names.
    fileprivate mutating func set(_ fields: [RecordedRequest.Field]) {
        for field in fields {
            guard let name = HTTPField.Name(field.name) else { continue }
            headers[name] = nil
        }
        for field in fields where !field.value.isEmpty {
            guard let name = HTTPField.Name(field.name) else { continue }
            headers.append(HTTPField(name: name, value: field.value))
        }
    }
}
