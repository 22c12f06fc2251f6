import HTTPTypes
import Hummingbird

/// Adds `/status/{code}`: any status, with the fields that the protocol requires.
func addStatusRoutes(to router: Router<OriginContext>) {
    for method: HTTPRequest.Method in [.get, .post, .put, .patch, .delete] {
        router.on("/status/{code}", method: method) { request, context in
            let text = try context.parameters.require("code")
            guard let code = Int(text), (200...599).contains(code) else {
                throw OriginHTTPError.badRequest("'\(text)' is not a status from 200 to 599.")
            }
            return respond(status: code, body: Query(request)["body"] ?? "{\"status\":\(code)}")
        }
    }
}

private func respond(status code: Int, body: String) -> Response {
    let status = HTTPResponse.Status(code: code)
    if let response = Response.withoutContent(status: status) { return response }
    var response = Response.bytes(Array(body.utf8), contentType: "application/json", status: status)
    switch code {
    case 300...308: response.headers[.location] = "/counter"
    case 401: response.headers[.wwwAuthenticate] = "Bearer realm=\"sample-origin\""
    case 405: response.headers[.allow] = "OPTIONS"
    case 407: response.headers[.proxyAuthenticate] = "Basic realm=\"sample-origin\""
    // The protocol to switch to (§15.5.22). No client here switches.
    case 426: response.headers[.upgrade] = "HTTP/2.0"
    default: break
    }
    return response
}
