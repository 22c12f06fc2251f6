import HTTPTypes
import Hummingbird

/// The longest `GET /slow`, in milliseconds.
private let maximumDelay = 30_000

/// Routes that are slow, fail, stop halfway or hang up.
func addFaultRoutes(to router: Router<OriginContext>, state: OriginState) {
    router.get("/slow") { request, _ in
        let delay = try Query(request).integer("milliseconds", default: 1_000, in: 0...maximumDelay)
        try await Task.sleep(for: .milliseconds(delay))
        return try Response.representation(json: ["milliseconds": delay], cacheControl: state.defaultCacheControl)
    }
    router.get("/failing") { request, _ in
        let query = Query(request)
        var response = try Response.failure(status: query.integer("status", default: 503, in: 400...599))
        if query["retry-after"] != nil {
            response.headers[.retryAfter] = String(try query.integer("retry-after", default: 0, in: 0...86_400))
        }
        return response
    }
    router.get("/flaky") { request, _ in
        let query = Query(request)
        let failures = try query.integer("fail", default: 1, in: 0...1_000_000)
        if state.flaky.nextFails(name: query["name"] ?? "", first: failures) {
            return try Response.failure(status: 503)
        }
        return try Response.representation(json: ["failuresBefore": failures], cacheControl: state.defaultCacheControl)
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
    router.get("/redirect") { request, _ in
        let query = Query(request)
        let status = try query.integer("status", default: 302, in: 301...308)
        let isVisible: (UInt8) -> Bool = { (0x21...0x7E).contains($0) }
        guard let target = query["to"], target.hasPrefix("/"), target.utf8.allSatisfy(isVisible) else {
            throw OriginHTTPError.badRequest("Parameter 'to' must be a path on this origin, such as '/moments'.")
        }
        return Response(status: HTTPResponse.Status(code: status), headers: [.location: target])
    }
}
