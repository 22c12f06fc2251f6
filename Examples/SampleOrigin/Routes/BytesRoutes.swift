import HTTPTypes
import Hummingbird

/// Adds routes that send any number of deterministic bytes, completely or by ranges. They simulate
/// two download failures: the connection breaks, or the content has changed when the client
/// resumes.
func addBytesRoutes(to router: Router<OriginContext>, state: OriginState) {
    router.get("/bytes/{count}") { request, context in
        let count = try numberOfBytes(context)
        let query = Query(request)
        let limits = 0...Int(DeterministicBytes.maximumCount)
        let seed = try query.integer("seed", default: 0, in: 0...Int(Int32.max))
        let cut = try query.integer("cut", default: 0, in: limits)
        let times = try query.integer("times", default: 1, in: 0...1_000_000)
        let changes = try query.integer("changes", default: 0, in: 0...1_000)

        let isCounted = query["cut"] != nil || query["changes"] != nil
        let key = query["key"] ?? ""
        // A HEAD describes the next GET, and does not count as an attempt.
        let earlier =
            !isCounted
            ? 0 : request.method == .head ? state.attempts.count(key: key) : state.attempts.begin(key: key)
        let content = DeterministicBytes(seed: UInt64(seed + min(earlier, changes)))
        let response = try content.response(
            to: request,
            count: count,
            isChunked: query["chunked"] == "true",
            cacheControl: state.defaultCacheControl
        )
        guard query["cut"] != nil, earlier < times else { return response }
        return response.interrupted(after: cut, by: .closing)
    }
}

private func numberOfBytes(_ context: OriginContext) throws -> Int64 {
    let text = try context.parameters.require("count")
    guard let count = Int64(text), (0...DeterministicBytes.maximumCount).contains(count) else {
        throw OriginHTTPError.badRequest(
            "'\(text)' is not a number of bytes from 0 to \(DeterministicBytes.maximumCount)."
        )
    }
    return count
}

extension DeterministicBytes {
    /// Returns the response to a GET for `count` bytes: 200, or 206 or 416 if the request has a
    /// range (RFC 9110 §14).
    fileprivate func response(
        to request: Request,
        count: Int64,
        isChunked: Bool,
        cacheControl: String
    ) throws -> Response {
        var whole = response(count: count, isChunked: isChunked, cacheControl: cacheControl)
        whole.headers[.acceptRanges] = "bytes"
        // A range is ignored for methods other than GET (§14.2), and if the response will be a 304
        // (§13.2.2).
        guard request.method == .get, !ConditionalMiddleware.isCurrent(request.headers, whole.headers),
            let tag = whole.headers[.eTag], ByteRange.mayBeServed(ifRange: request.headers[.ifRange], tag: tag)
        else { return whole }
        switch ByteRange.selected(by: request.headers[.range], of: count) {
        case .whole:
            return whole
        case .part(let range):
            var fields = whole.headers
            // The framework derived this length from the whole body.
            fields[.contentLength] = nil
            fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(count)"
            return Response(status: .partialContent, headers: fields, body: body(range, isChunked: isChunked))
        case .unsatisfiable:
            let message = "No byte of this range is among the \(count) that there are."
            var response = try Response.json(
                ErrorBody(code: "unsatisfiable-range", message: message),
                status: .rangeNotSatisfiable
            )
            response.headers[.contentRange] = "bytes */\(count)"
            return response
        }
    }
}
