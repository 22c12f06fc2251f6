import Holdfast
import Hummingbird
import HummingbirdCore

// None of these names says whose it is.

/// The parameters of a route, as those of a request to an origin.
func query(_ parameters: Parameters) -> RequestParameters {
    var query = RequestParameters()
    for (name, value) in parameters { query[String(name)] = .string(String(value)) }
    return query
}

/// Answers a request with a stored or fetched response.
func answer(_ request: Request, from client: CachingClient) async throws -> Response {
    let value = try await client.fetch(AdHocRequest<RawContent>("https://api.example.com\(request.uri.path)")).value
    return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(bytes: value.data)))
}

/// Writes a response of a server.
func end(_ writer: consuming ResponseWriter) async throws {
    try await writer.writeResponse(HTTPResponse(status: .noContent))
}
