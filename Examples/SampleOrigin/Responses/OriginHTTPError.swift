import HTTPTypes
import Hummingbird

/// The error for a rejected request. The response is JSON:
/// `{"error":{"code":"unknown-user","message":"…"}}`.
struct OriginHTTPError: HTTPResponseError {
    let status: HTTPResponse.Status
    let code: String
    let message: String

    init(_ status: HTTPResponse.Status, code: String, message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    /// Wraps an error of the framework; keeps an error of this type unchanged.
    init(wrapping error: any HTTPResponseError, path: String) {
        if let error = error as? OriginHTTPError {
            self = error
        } else if error.status == .notFound {
            self.init(
                .notFound,
                code: "no-such-route",
                message: "Nothing is at '\(path)', or not for this method. 'sample-origin --help' lists the routes."
            )
        } else {
            self.init(error.status, code: "refused", message: (error as? HTTPError)?.body ?? error.status.reasonPhrase)
        }
    }

    static func badRequest(_ message: String) -> OriginHTTPError {
        OriginHTTPError(.badRequest, code: "bad-request", message: message)
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        try Response.json(ErrorBody(code: code, message: message), status: status)
    }
}

/// The body of every error response.
struct ErrorBody: Encodable {
    struct Fields: Encodable {
        let code: String
        let message: String
    }

    let error: Fields

    init(code: String, message: String) {
        error = Fields(code: code, message: message)
    }
}
