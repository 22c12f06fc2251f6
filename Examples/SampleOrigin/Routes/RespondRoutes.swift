import HTTPTypes
import Hummingbird

/// The fields that frame the message. With wrong framing, a response would not be deterministic.
private let framing: Set<HTTPField.Name> = [.contentLength, .transferEncoding, .connection, .date]

/// Adds `GET /respond?status=200&field=Name: value&body=…`: a response that is built from the
/// query's values.
func addRespondRoutes(to router: Router<OriginContext>) {
    for method: HTTPRequest.Method in [.get, .post, .put, .delete] {
        router.on("/respond", method: method) { request, _ in
            let query = Query(request)
            let body = query["body"] ?? "{\"path\":\"/respond\"}"
            let status = HTTPResponse.Status(code: try query.integer("status", default: 200, in: 200...599))
            var response =
                Response.withoutContent(status: status)
                ?? .bytes(Array(body.utf8), contentType: "application/json", status: status)
            for line in query.values("field") {
                let field = try parsedField(line)
                if field.name == .contentType { response.headers[.contentType] = nil }
                response.headers.append(field)
            }
            return response
        }
    }
}

private func parsedField(_ line: String) throws -> HTTPField {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let value = String(parts.last ?? "").trimmed
    guard parts.count == 2, let name = HTTPField.Name(String(parts[0])), HTTPField.isValidValue(value) else {
        throw OriginHTTPError.badRequest("Parameter 'field' must look like 'Name: value', percent-encoded.")
    }
    guard !framing.contains(name) else {
        throw OriginHTTPError.badRequest("Parameter 'field' cannot set '\(name)': the server does.")
    }
    return HTTPField(name: name, value: value)
}
