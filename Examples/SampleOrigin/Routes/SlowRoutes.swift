import HTTPTypes
import Hummingbird

/// The maximum delay of a response, in milliseconds.
private let maximumDelay = 30_000

/// Adds routes that respond late, in small parts, or when a gate opens.
func addSlowRoutes(to router: Router<OriginContext>, state: OriginState) {
    router.get("/slow") { request, _ in
        let delay = try Query(request).integer("milliseconds", default: 1_000, in: 0...maximumDelay)
        try await Task.sleep(for: .milliseconds(delay))
        return try Response.representation(json: ["milliseconds": delay], cacheControl: state.defaultCacheControl)
    }
    router.get("/drip") { request, _ in
        let query = Query(request)
        let count = try query.integer("count", default: 10, in: 1...1_000)
        let size = try query.integer("size", default: 100, in: 1...65_536)
        let pause = try query.integer("pause", default: 100, in: 0...maximumDelay)
        guard count * pause <= maximumDelay else {
            throw OriginHTTPError.badRequest(
                "'count' times 'pause' is \(count * pause) milliseconds; the limit is \(maximumDelay)."
            )
        }
        return dripping(
            count: count,
            size: size,
            pause: .milliseconds(pause),
            isChunked: query["chunked"] == "true",
            cacheControl: state.defaultCacheControl
        )
    }
    router.get("/gated/{name}") { request, context in
        let query = Query(request)
        let before = try query.integer("before", default: 100, in: 0...1 << 30)
        let after = try query.integer("after", default: 100, in: 0...1 << 30)
        guard let gate = state.gates.gate(forRequest: try context.parameters.require("name")) else {
            throw OriginHTTPError(
                .tooManyRequests,
                code: "too-many-gates",
                message: "There are \(GateBook.maximumNames) gates already. Use one of them."
            )
        }
        let whole = DeterministicBytes().response(
            count: Int64(before + after),
            isChunked: query["chunked"] == "true",
            cacheControl: state.defaultCacheControl
        )
        return whole.interrupted(after: before, by: .waiting(gate))
    }
}

/// Returns deterministic bytes in `count` parts, with a pause between two parts.
private func dripping(
    count: Int,
    size: Int,
    pause: Duration,
    isChunked: Bool,
    cacheControl: String
) -> Response {
    let content = DeterministicBytes()
    var response = content.response(count: Int64(count * size), isChunked: isChunked, cacheControl: cacheControl)
    response.body = ResponseBody(contentLength: isChunked ? nil : count * size) { writer in
        for part in 0..<Int64(count) {
            if part > 0 { try await Task.sleep(for: pause) }
            let first = part * Int64(size)
            try await writer.write(ByteBuffer(bytes: content.bytes(first..<first + Int64(size))))
        }
        try await writer.finish(nil)
    }
    return response
}
