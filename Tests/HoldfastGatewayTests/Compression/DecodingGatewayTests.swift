import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway

/// Responses that are stored only in a coding that a client does not accept, while the origin
/// cannot be asked.
@Suite(.timeLimit(.minutes(20))) struct DecodingGatewayTests {
    private static let text = CompressedGateway.text(20_000)

    /// An origin that negotiates: the coding's name is the content, except for gzip.
    private static func negotiates(
        _ fields: String = CompressedGateway.fresh,
        content: [UInt8]? = nil
    ) -> @Sendable (RawOrigin.Request) -> RawOrigin.Step {
        { request in
            let accepted = request.values("accept-encoding").first ?? ""
            let coding = accepted.contains("gzip") ? "gzip" : accepted.contains("br") ? "br" : "identity"
            let bytes =
                coding == "gzip" ? content ?? (try? Gzip.compressed(Array(text.utf8))) ?? [] : Array(coding.utf8)
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: \(coding)\r\nVary: Accept-Encoding\r\n"
                + "ETag: \"\(coding)\"\r\nAccept-Ranges: bytes\r\nRepr-Digest: sha-256=:eA==:\r\n"
                + "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n\(fields)Content-Length: \(bytes.count)\r\n\r\n"
            return .response(Array(head.utf8) + bytes)
        }
    }

    /// Stores the response for a client that accepts this coding, and stops the origin.
    private func with(
        stored coding: String,
        _ respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step = negotiates(),
        hasResidentBodies: Bool = true,
        compresses: Bool = false,
        _ body: (RunningGateway) async throws -> Void
    ) async throws {
        try await CompressedGateway.with(compresses: compresses, respond, hasResidentBodies: hasResidentBodies) {
            gateway,
            origin in
            let first = try await gateway.get("/o/a", fields: "Accept-Encoding: \(coding)\r\n")
            #expect(first.status == 200 && first["Content-Encoding"] == coding)
            // While the origin responds, each client gets its own coding.
            let other = try await gateway.get("/o/b", fields: "Accept-Encoding: \(coding)\r\n")
            #expect(other["Content-Encoding"] == coding)
            #expect(try await gateway.get("/o/b")["Content-Encoding"] == "identity")
            await origin.stop()
            try await body(gateway)
        }
    }

    @Test(arguments: [(true, false), (false, false), (true, true)], [0, 7200])
    func decodesGzip(way: (isResident: Bool, compresses: Bool), age: Int64) async throws {
        try await with(stored: "gzip", hasResidentBodies: way.isResident, compresses: way.compresses) { gateway in
            gateway.clock.advance(by: .seconds(age))
            for fields in [
                "", "Accept-Encoding: identity\r\n", "Accept-Encoding: br\r\n", "Accept-Encoding: gzip;q=0\r\n",
            ] {
                let response = try await gateway.get("/o/a", fields: fields)
                #expect(response.status == 200 && response.isComplete && response.text == Self.text)
                #expect(response["Cache-Status"]?.hasSuffix("detail=decoded") == true)
                #expect(response["Cache-Status"]?.contains("hit") == true)
                #expect(response["ETag"] == "W/\"gzip\"")
                for name in ["Content-Encoding", "Content-Length", "Accept-Ranges", "Repr-Digest"] {
                    #expect(response[name] == nil, "\(name)")
                }
                let head = try await gateway.send("HEAD /o/a HTTP/1.1\r\nHost: gateway.example\r\n\(fields)\r\n")
                #expect(head.status == 200 && head["ETag"] == "W/\"gzip\"" && head["Content-Length"] == nil)
            }
        }
    }

    @Test func decodesNoParts() async throws {
        try await with(stored: "gzip") { gateway in
            let part = try await gateway.get("/o/a", fields: "Range: bytes=0-9\r\n")
            #expect(part.status == 200 && part.text == Self.text)
            for tag in ["W/\"gzip\"", "\"gzip\"", "*"] {
                let response = try await gateway.get("/o/a", fields: "If-None-Match: \(tag)\r\n")
                #expect(response.status == 304 && response["ETag"] == "W/\"gzip\"")
            }
            #expect(try await gateway.get("/o/a", fields: "If-None-Match: \"identity\"\r\n").status == 200)
        }
    }

    /// Another spelling of `Accept-Encoding` selects no variant, but accepts the coding.
    @Test(arguments: ["gzip, br", "*", "gzip;q=0.1", "br, x-gzip"])
    func passesACodingThatTheClientAccepts(accepted: String) async throws {
        try await with(stored: "gzip") { gateway in
            let response = try await gateway.get("/o/a", fields: "Accept-Encoding: \(accepted)\r\n")
            #expect(response.status == 200 && response["Content-Encoding"] == "gzip")
            #expect(response["ETag"] == "\"gzip\"" && response["Cache-Status"]?.contains("detail=unreachable") == true)
            #expect(try Gzip.decoded(response.content) == Array(Self.text.utf8))
        }
    }

    @Test(
        arguments: [
            ("br", "", CompressedGateway.fresh), ("br", "gzip", CompressedGateway.fresh),
            ("gzip", "br, identity;q=0", CompressedGateway.fresh),
            ("gzip", "identity", "Cache-Control: max-age=3600, no-transform\r\n"),
        ]
    )
    func refusesACodingThatItCannotDecode(stored: String, accepted: String, fields: String) async throws {
        try await with(stored: stored, Self.negotiates(fields)) { gateway in
            let accept = accepted.isEmpty ? "" : "Accept-Encoding: \(accepted)\r\n"
            let response = try await gateway.get("/o/a", fields: accept)
            #expect(response.status == 504)
            #expect(response["Cache-Status"] == "holdfast; fwd=vary-miss; detail=coding")
            #expect(response.text.contains("is stored only with a content coding that the request does not accept"))
        }
    }

    /// In the mode 'offline', the origin is not asked either.
    @Test func decodesInTheModeOffline() async throws {
        try await CompressedGateway.with(compresses: false, Self.negotiates()) { gateway, origin in
            _ = try await gateway.get("/o/a", fields: "Accept-Encoding: gzip\r\n")
            gateway.engine.mode = .offline
            for _ in 0..<4 {
                let decoded = try await gateway.get("/o/a")
                #expect(decoded.text == Self.text && decoded["Cache-Status"]?.hasSuffix("detail=decoded") == true)
                let coded = try await gateway.get("/o/a", fields: "Accept-Encoding: gzip, br\r\n")
                #expect(coded["Content-Encoding"] == "gzip")
                #expect(coded["Cache-Status"]?.hasSuffix("detail=offline") == true)
            }
            #expect(origin.requests.count == 1)
        }
    }

    @Test func thirtyClientsGetTheirCodings() async throws {
        try await with(stored: "gzip") { gateway in
            let port = gateway.port
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<30 {
                    group.addTask {
                        let fields = number % 2 == 0 ? "" : "Accept-Encoding: gzip, br\r\n"
                        let request = "GET /o/a HTTP/1.1\r\nHost: gateway.example\r\n\(fields)\r\n"
                        let response = try await RawClient.send(request, to: port)
                        try #require((response["Content-Encoding"] == "gzip") == !fields.isEmpty)
                        try #require(try response.decodedText() == Self.text)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Mutant: `gzip-decodes-without-a-limit`.
    @Test func cutsOffContentAboveTheLimit() async throws {
        let bomb = try Gzip.compressed([UInt8](repeating: 0, count: GunzipStage.limit + 1))
        try await with(stored: "gzip", Self.negotiates(content: bomb)) { gateway in
            let received = try await RawClient.with(port: gateway.port) { client in
                try await client.send("GET /o/a HTTP/1.1\r\nHost: gateway.example\r\n\r\n")
                return await client.readToEnd()
            }
            // The frames of the chunks come on top of the content.
            #expect(received.count > GunzipStage.limit / 2 && received.count < GunzipStage.limit + (1 << 20))
            #expect(!received.suffix(7).elementsEqual("\r\n0\r\n\r\n".utf8))
        }
    }

    @Test func cutsOffDamagedContent() async throws {
        let whole = try Gzip.compressed(Array(Self.text.utf8))
        for content in [
            Array("not gzip".utf8), Array(whole.dropLast(1)), Array(whole.dropLast(8)) + [0, 0, 0, 0, 0, 0, 0, 0],
        ] {
            try await with(stored: "gzip", Self.negotiates(content: content)) { gateway in
                let response = try? await gateway.get("/o/a")
                #expect(response?.isComplete != true)
            }
        }
    }
}
