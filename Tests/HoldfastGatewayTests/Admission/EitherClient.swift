import Testing

@testable import HoldfastGateway

/// A connection of either protocol, on which requests follow each other.
final class EitherClient {
    enum Kind: CaseIterable, Sendable { case http1, http2 }

    struct Request: Sendable {
        var method = "GET"
        var target = "/a"
        var host = "g"
        var fields: [(name: String, value: String)] = []
        var content = ""
    }

    struct Answer: Sendable {
        var status: Int
        var text: String
        /// The value of a field, by its name in lower case.
        var field: @Sendable (String) -> String?

        var allow: String? { field("allow") }
    }

    private let raw: RawClient
    private let frames: FrameClient?
    private var stream: UInt32 = 1

    private init(_ raw: RawClient, _ kind: Kind) {
        self.raw = raw
        frames = kind == .http2 ? FrameClient(raw) : nil
    }

    /// Connects, and closes after the body.
    ///
    /// - Parameter preamble: bytes before the protocol's own.
    static func with<Value>(
        _ kind: Kind,
        port: Int,
        preamble: String = "",
        _ body: (EitherClient) async throws -> Value
    ) async throws -> Value {
        try await RawClient.with(port: port) { raw in
            if !preamble.isEmpty { try await raw.send(preamble) }
            let client = EitherClient(raw, kind)
            try await client.frames?.send(FrameClient.beginning())
            return try await body(client)
        }
    }

    func ask(_ request: Request) async throws -> Answer {
        guard let frames else { return try await askHTTP1(request) }
        let id = stream
        stream += 2
        let head = FrameClient.request(
            request.method,
            request.target,
            on: id,
            authority: request.host,
            fields: request.fields.map { ($0.name.lowercased(), $0.value) },
            endsStream: request.content.isEmpty
        )
        try await frames.send(head)
        if !request.content.isEmpty {
            try await frames.send(.init(type: 0, flags: 1, stream: id, payload: Array(request.content.utf8)))
        }
        let response = try #require(try await frames.responses([id])[id])
        return Answer(status: response.status, text: response.text) { response[$0] }
    }

    private func askHTTP1(_ request: Request) async throws -> Answer {
        var head = "\(request.method) \(request.target) HTTP/1.1\r\nHost: \(request.host)\r\n"
        for field in request.fields { head += "\(field.name): \(field.value)\r\n" }
        if !request.content.isEmpty { head += "Content-Length: \(request.content.utf8.count)\r\n" }
        try await raw.send(head + "\r\n" + request.content)
        let response = try await raw.response(isHead: request.method == "HEAD")
        return Answer(status: response.status, text: response.text) { response[$0] }
    }
}
