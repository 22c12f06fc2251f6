import HTTPTypes
import Hummingbird
import Logging

/// Numbers and records each request, and adds the number to its response.
struct LedgerMiddleware: RouterMiddleware {
    let state: OriginState

    @concurrent func handle(
        _ request: Request,
        context: OriginContext,
        next: @concurrent (Request, OriginContext) async throws -> Response
    ) async throws -> Response {
        let head =
            state.connections.nextHead(on: context.channel)
            ?? RawRequestHead(method: request.method.rawValue, target: request.uri.string)
        let recorded = state.ledger.record(head, path: request.uri.path)
        var context = context
        context.recorded = recorded
        let route = context.endpointPath.flatMap { $0 == "NotFound" ? nil : $0 } ?? "(no such route)"
        state.ledger.count(route: "\(recorded.method) \(route)")

        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            // Converts the error to a response here, so that error responses also have the number.
            let failure = OriginHTTPError(wrapping: error, path: request.uri.path)
            response = try failure.response(from: request, context: context)
        }
        response.headers[.originRequest] = String(recorded.number)
        state.configuration.logger?.info(
            "responded",
            metadata: [
                "number": "\(recorded.number)", "method": "\(recorded.method)", "path": "\(recorded.path)",
                "status": "\(response.status.code)",
            ]
        )
        return response
    }
}
