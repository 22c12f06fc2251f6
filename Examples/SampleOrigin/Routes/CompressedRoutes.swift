import HTTPTypes
import Hummingbird

/// Adds routes with content codings: negotiated by `Accept-Encoding`, unrequested, truncated, and
/// as a decompression bomb.
func addCompressedRoutes(to router: Router<OriginContext>, state: OriginState) {
    router.get("/gzip/{count}") { request, context in
        try compressed(request, context, coding: "gzip", format: .gzip, cacheControl: state.defaultCacheControl)
    }
    router.get("/deflate/{count}") { request, context in
        let format: Deflater.Format = Query(request)["raw"] == "true" ? .raw : .zlib
        return try compressed(
            request,
            context,
            coding: "deflate",
            format: format,
            cacheControl: state.defaultCacheControl
        )
    }
    router.get("/bomb") { request, _ in
        let mebibytes = try Query(request).integer("mebibytes", default: 1_024, in: 1...8_192)
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/octet-stream", .contentEncoding: "gzip",
                .cacheControl: state.defaultCacheControl, .eTag: entityTag(of: Array("bomb/\(mebibytes)".utf8)),
            ],
            body: try InflationBomb(mebibytes: mebibytes).body
        )
    }
}

private func compressed(
    _ request: Request,
    _ context: OriginContext,
    coding: String,
    format: Deflater.Format,
    cacheControl: String
) throws -> Response {
    let text = try context.parameters.require("count")
    guard let count = Int64(text), (0...DeterministicText.maximumCount).contains(count) else {
        throw OriginHTTPError.badRequest(
            "'\(text)' is not a number of bytes from 0 to \(DeterministicText.maximumCount)."
        )
    }
    let query = Query(request)
    let missing = try query.integer("missing", default: 0, in: 0...1_024)
    let isCoded = query["always"] == "true" || accepts(coding, field: request.headers[.acceptEncoding])
    // Different codings of the same content are different representations, so each has its own
    // strong tag (RFC 9110 §8.8.3.3).
    let name = isCoded ? "\(coding)/\(format)/\(missing)" : "identity"
    var fields: HTTPFields = [
        .contentType: "text/plain; charset=utf-8", .cacheControl: cacheControl, .vary: "Accept-Encoding",
        .eTag: entityTag(of: Array("text/\(count)/\(name)".utf8)),
    ]
    if isCoded { fields[.contentEncoding] = coding }
    let body = isCoded ? codedBody(count: count, format: format, missing: missing) : plainBody(count: count)
    return Response(status: .ok, headers: fields, body: body)
}

private let partLength: Int64 = 64 << 10

private func plainBody(count: Int64) -> ResponseBody {
    ResponseBody(contentLength: Int(count)) { writer in
        for first in stride(from: 0, to: count, by: Int(partLength)) {
            try await writer.write(ByteBuffer(bytes: DeterministicText().bytes(first..<min(first + partLength, count))))
        }
        try await writer.finish(nil)
    }
}

/// Returns the coded text without its last `missing` bytes: the coded stream is truncated, but the
/// message is complete.
private func codedBody(count: Int64, format: Deflater.Format, missing: Int) -> ResponseBody {
    ResponseBody { writer in
        let deflater = try Deflater(format)
        var held: [UInt8] = []
        for first in stride(from: 0, to: count, by: Int(partLength)) {
            held += deflater.compress(DeterministicText().bytes(first..<min(first + partLength, count)))
            let ready = max(0, held.count - missing)
            if ready > 0 { try await writer.write(ByteBuffer(bytes: held.prefix(ready))) }
            held.removeFirst(ready)
        }
        held += deflater.compress([], .finish)
        if held.count > missing { try await writer.write(ByteBuffer(bytes: held.dropLast(missing))) }
        try await writer.finish(nil)
    }
}
