import Holdfast
import Hummingbird
import MomentsExample

/// The reason for an error, for people and programs: RFC 9457.
struct Problem: ResponseEncodable {
    var type = "about:blank"
    let title: String
    let status: Int
    let detail: String
    /// Holdfast's code for the error.
    let code: String

    /// Translates an error of the request layer for callers of this service. The error's own
    /// message is only for the log, because it names the upstream.
    init(_ error: HoldfastError) {
        let (status, detail): (HTTPResponse.Status, String) =
            switch error.code {
            case .originUnreachable, .offlineMiss, .staleForbidden, .truncated, .transportFailed, .closed:
                (.serviceUnavailable, "The upstream is unreachable, and there is no stored response.")
            case .overloaded:
                (.serviceUnavailable, "Too many requests are under way to the upstream. Try again later.")
            case .timeout:
                (.gatewayTimeout, "The upstream did not respond in time, and there is no stored response.")
            case .status where error.status == .notFound:
                (.notFound, "The upstream does not know that name.")
            case .graphQL where error.graphQLErrors?.errors.first?.code == "NOT_FOUND":
                (.notFound, "The upstream does not know that name.")
            default:
                (.badGateway, "The upstream's response is not usable.")
            }
        title = status.reasonPhrase
        self.status = status.code
        self.detail = detail
        code = error.code.description
    }
}

/// Converts errors of the request layer to problem details. Rethrows all other errors.
struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
    @concurrent func handle(
        _ request: Request,
        context: Context,
        next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HoldfastError {
            context.logger.notice("Request failed", metadata: ["error": "\(error)"])
            let problem = Problem(error)
            var response = try problem.response(from: request, context: context)
            response.status = HTTPResponse.Status(code: problem.status)
            response.headers[.contentType] = "application/problem+json"
            return response
        }
    }
}
