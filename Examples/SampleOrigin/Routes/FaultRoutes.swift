import HTTPTypes
import Hummingbird

/// Adds routes that fail, stop halfway or close the connection.
func addFaultRoutes(to router: Router<OriginContext>, state: OriginState) {
    router.get("/failing") { request, _ in
        try failure(as: Query(request), state: state)
    }
    // Includes methods with a body, so that a test can see which methods are retried.
    for method: HTTPRequest.Method in [.get, .post, .put, .delete] {
        for path: RouterPath in ["/flaky", "/flaky/{key}"] {
            router.on(path, method: method) { request, context in
                let query = Query(request)
                let failures = try query.integer("fail", default: 1, in: 0...1_000_000)
                if state.flaky.nextFails(name: context.parameters.get("key") ?? query["name"] ?? "", first: failures) {
                    return try failure(as: query, state: state)
                }
                let cacheControl = state.defaultCacheControl
                return try Response.representation(json: ["failuresBefore": failures], cacheControl: cacheControl)
            }
        }
    }
    router.get("/truncated") { request, _ in
        let query = Query(request)
        let announced = try query.integer("announced", default: 1_000, in: 1...1 << 30)
        let sent = try query.integer("sent", default: announced / 2, in: 0...announced - 1)
        let whole = DeterministicBytes().response(
            count: Int64(announced),
            isChunked: query["chunked"] == "true",
            cacheControl: state.defaultCacheControl
        )
        return whole.interrupted(after: sent, by: .closing)
    }
    router.get("/hangup") { request, context -> Response in
        try await hangUp(context.channel, reset: Query(request)["reset"] == "true")
    }
    for method: HTTPRequest.Method in [.get, .head, .post, .put, .delete] {
        router.on("/redirect", method: method) { request, _ in try redirect(as: Query(request)) }
    }
}

/// Returns a redirect. A target that begins with two slashes is at another origin (RFC 3986 §4.2).
private func redirect(as query: Query) throws -> Response {
    let status = try query.integer("status", default: 302, in: 301...308)
    let isVisible: (UInt8) -> Bool = { (0x21...0x7E).contains($0) }
    guard let target = query["to"], target.hasPrefix("/"), target.utf8.allSatisfy(isVisible) else {
        throw OriginHTTPError.badRequest("Parameter 'to' must be a path, such as '/moments'.")
    }
    var response = Response(status: HTTPResponse.Status(code: status), headers: [.location: target])
    if query["max-age"] != nil {
        let maxAge = try query.integer("max-age", default: 0, in: 0...1_000_000)
        response.headers[.cacheControl] = "max-age=\(maxAge)"
    }
    return response
}

/// Returns a failure with the requested status and, optionally, `Retry-After` as seconds or as a
/// date (RFC 9110 §10.2.3).
private func failure(as query: Query, state: OriginState) throws -> Response {
    var response = try Response.failure(status: query.integer("status", default: 503, in: 400...599))
    guard query["retry-after"] != nil else { return response }
    let seconds = try query.integer("retry-after", default: 0, in: 0...86_400)
    response.headers[.retryAfter] =
        query["as"] == "date" ? HTTPDate.string(secondsSince1970: state.now + Int64(seconds)) : String(seconds)
    return response
}
