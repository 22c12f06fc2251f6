import HTTPTypes
import Hummingbird
import NIOCore

/// The maximum size of an upload, in bytes. The query can set a lower limit.
private let maximumUploadBytes = 1 << 30

/// Adds uploads, raw and as a form. The response describes the upload, which is not kept.
func addUploadRoutes(to router: Router<OriginContext>) {
    for method: HTTPRequest.Method in [.put, .post] {
        router.on("/upload", method: method) { request, _ in
            var digest = UploadDigest()
            try await read(request) { digest.add($0) }
            return try uploadResponse(
                RawUpload(
                    bytes: digest.byteCount,
                    sha256: digest.sha256,
                    contentType: request.headers[.contentType],
                    query: pairs(request)
                )
            )
        }
        router.on("/upload/multipart", method: method) { request, _ in
            guard var parser = MultipartParser(contentType: request.headers[.contentType] ?? "") else {
                throw OriginHTTPError(
                    .unsupportedMediaType,
                    code: "no-multipart",
                    message: "The Content-Type must be 'multipart/form-data' with a boundary by RFC 2046 §5.1.1."
                )
            }
            var parts: [FormUpload.Part] = []
            do {
                var head: MultipartPartHead?
                var digest = UploadDigest()
                try await read(request) { bytes in
                    for event in try parser.feed(bytes) {
                        switch event {
                        case .began(let part): (head, digest) = (part, UploadDigest())
                        case .content(let content): digest.add(content)
                        case .ended: if let head { parts.append(FormUpload.Part(head, digest)) }
                        }
                    }
                }
                try parser.finish()
            } catch let error as MultipartError {
                throw OriginHTTPError.badRequest("The form cannot be read: \(error.message).")
            }
            return try uploadResponse(FormUpload(parts: parts, query: pairs(request)))
        }
    }
}

private struct RawUpload: Encodable {
    let bytes: Int
    let sha256: String
    let contentType: String?
    let query: [[String]]
}

private struct FormUpload: Encodable {
    struct Part: Encodable {
        let name: String
        let filename: String?
        let contentType: String?
        let bytes: Int
        let sha256: String

        init(_ head: MultipartPartHead, _ digest: UploadDigest) {
            name = head.name
            filename = head.filename
            contentType = head.contentType
            bytes = digest.byteCount
            sha256 = digest.sha256
        }
    }

    let parts: [Part]
    let query: [[String]]
}

/// Reads a body as it arrives, up to the limit. The query can lower the limit.
private func read(_ request: Request, _ body: (ByteBufferView) throws -> Void) async throws {
    let limit = try Query(request).integer("limit", default: maximumUploadBytes, in: 0...maximumUploadBytes)
    let tooLarge = OriginHTTPError(
        .contentTooLarge,
        code: "too-large",
        message: "The body is longer than the limit of \(limit) bytes."
    )
    if let announced = request.headers[.contentLength].flatMap({ Int($0) }), announced > limit { throw tooLarge }
    var count = 0
    for try await part in request.body {
        count += part.readableBytes
        guard count <= limit else { throw tooLarge }
        try body(part.readableBytesView)
    }
}

private func pairs(_ request: Request) -> [[String]] {
    Query(request).items.map { [$0.name, $0.value] }
}

private func uploadResponse(_ upload: some Encodable) throws -> Response {
    var response = try Response.json(upload)
    response.headers[.cacheControl] = "no-store"
    return response
}
