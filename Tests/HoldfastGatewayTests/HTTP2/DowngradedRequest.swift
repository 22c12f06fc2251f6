import HTTP2Client
import Testing

/// A request that both protocols can express. Text stands for bytes: each scalar is one.
struct DowngradedRequest: Sendable, CustomTestStringConvertible {
    enum Content: Sendable {
        case none
        case length(String)
        case unknownLength(String)
    }

    var name: String
    var method = "GET"
    var target = "/"
    var authority = "a.example"
    /// The lines of both.
    var fields: [String] = []
    var content = Content.none
    /// The lines behind content of unknown length.
    var trailers: [String] = []
    /// The target of HTTP/1, if it has another form.
    var http1Target: String?
    /// Lines in place of ``fields``.
    var http1Fields: [String]?
    var http2Fields: [String]?
    /// Whether HTTP/2 has a `host` in place of `:authority`.
    var hasHost = false

    init(_ name: String) { self.name = name }

    func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    var testDescription: String { name }

    /// Head and content as HTTP/1 has them.
    var http1: [UInt8] {
        var lines = ["\(method) \(http1Target ?? target) HTTP/1.1", "host: \(authority)"] + (http1Fields ?? fields)
        var text = ""
        switch content {
        case .none: break
        case .length(let content):
            lines.append("content-length: \(content.unicodeScalars.count)")
            text = content
        case .unknownLength(let content):
            lines.append("transfer-encoding: chunked")
            text = content.isEmpty ? "" : "\(String(content.unicodeScalars.count, radix: 16))\r\n\(content)\r\n"
            text += "0\r\n" + trailers.map { $0 + "\r\n" }.joined() + "\r\n"
        }
        return (lines.joined(separator: "\r\n") + "\r\n\r\n" + text).scalarBytes
    }

    /// The fields of HTTP/2, and the content.
    var http2: (fields: [HTTP2Field], upload: HTTP2Upload?) {
        let host = HTTP2Field(name: hasHost ? "host" : ":authority", value: authority.scalarBytes)
        var list = [HTTP2Field(":method", method), HTTP2Field(":scheme", "http")]
        list.append(HTTP2Field(name: ":path", value: target.scalarBytes))
        list.append(host)
        list += (http2Fields ?? fields).map(Self.field)
        switch content {
        case .none: return (list, nil)
        case .length(let content):
            list.append(HTTP2Field("content-length", "\(content.unicodeScalars.count)"))
            return (list, HTTP2Upload(content.scalarBytes, piece: 1_000))
        case .unknownLength(let content):
            var upload = HTTP2Upload(content.scalarBytes, piece: 1_000)
            upload.trailers = trailers.map(Self.field)
            return (list, upload)
        }
    }

    private static func field(_ line: String) -> HTTP2Field {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts[1].unicodeScalars.drop { $0 == " " }
        return HTTP2Field(name: String(parts[0]), value: String(value).scalarBytes)
    }
}

extension String {
    /// One byte for each scalar. Those above 255 do not occur.
    var scalarBytes: [UInt8] { unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

    init(scalarBytes bytes: some Sequence<UInt8>) {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: bytes.map { Unicode.Scalar($0) })
        self.init(text)
    }
}

extension RawClient {
    /// Sends a request of HTTP/2, and reads its response to the end.
    func exchange(_ request: DowngradedRequest, _ session: HTTP2ClientSession) async throws -> HTTP2Response {
        let (fields, upload) = request.http2
        let stream = try session.request(fields, upload)
        while session.responses[stream]?.isOver == false {
            let output = try session.takeOutput()
            if !output.isEmpty { try await send(output) }
            guard session.responses[stream]?.isOver == false else { break }
            guard let bytes = await read() else { throw Failure.closed(received: "") }
            try session.receive(bytes)
        }
        let output = try session.takeOutput()
        // The stream is over: the gateway may have closed.
        if !output.isEmpty { try? await send(output) }
        return try #require(session.take(stream))
    }

    /// Sends a request of HTTP/1, and reads its final response.
    func exchange(_ request: DowngradedRequest) async throws -> RawResponse {
        try await send(request.http1)
        while true {
            let response = try await response(isHead: request.method == "HEAD")
            if response.status >= 200 { return response }
        }
    }
}
