import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway

/// Parts of content that would be rewritten.
extension RewritingGatewayTests {
    private static let ranged: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
        let page = RewritingGateway.page(of: request)
        let type = request.target == "/image" ? "image/png" : "text/html"
        guard let range = request.values("range").first else {
            return .response(RewritingGateway.response(page, type: type, fields: RewritingGateway.fresh))
        }
        let first = Int(range.split(whereSeparator: { "=-".contains($0) })[1]) ?? 0
        guard first < page.utf8.count else {
            return .response(
                "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */\(page.utf8.count)\r\nContent-Length: 0\r\n\r\n"
            )
        }
        let part = String(decoding: page.utf8.dropFirst(first).prefix(5), as: UTF8.self)
        return .response(
            "HTTP/1.1 206 Partial Content\r\nContent-Type: \(type)\r\nETag: \"x\"\r\nCache-Control: max-age=60\r\n"
                + "Content-Range: bytes \(first)-\(first + part.utf8.count - 1)/\(page.utf8.count)\r\n"
                + "Content-Length: \(part.utf8.count)\r\n\r\n\(part)"
        )
    }

    /// Before the whole is stored, and after.
    @Test(
        arguments: [
            "Range: bytes=0-4\r\n", "Range: bytes=0-4, 6-7\r\n", "Range: bytes=0-4\r\nIf-Range: \"x\"\r\n",
            "Range: bytes=0-4\r\nIf-Range: W/\"x\"\r\n", "Range: bytes=99999-\r\n",
        ],
        [true, false]
    )
    func respondsToARangeWithTheWhole(fields: String, isResident: Bool) async throws {
        try await RewritingGateway.with(Self.ranged, hasResidentBodies: isResident) { gateway, _ in
            for _ in 0..<3 {
                let response = try await gateway.ask(host: "gw.example", fields: fields)
                #expect(response.status == 200)
                #expect(response.text == RewritingGateway.page("http://gw.example/o"))
                #expect(response["Content-Range"] == nil && response["ETag"] == "W/\"x\"")
            }
        }
    }

    @Test func passesPartsOfOtherContent() async throws {
        try await RewritingGateway.with(Self.ranged) { gateway, origin in
            for _ in 0..<2 {
                let part = try await gateway.ask("GET", "/o/image", host: "gw.example", fields: "Range: bytes=3-7\r\n")
                let expected = String(RewritingGateway.page(origin.url).dropFirst(3).prefix(5))
                #expect(part.status == 206 && part.text == expected)
                let far = "Range: bytes=99999-\r\n"
                #expect(try await gateway.ask("GET", "/o/image", host: "gw.example", fields: far).status == 416)
                _ = try await gateway.ask("GET", "/o/image", host: "gw.example")
            }
        }
    }

    /// The whole is not stored: its length is the one that the part states.
    @Test(arguments: ["same", "above", "unknown", "unknown, and long"])
    func judgesAPartByTheLengthOfTheWhole(_ kind: String) async throws {
        let limit = Int(ResponseRewriting.contentLimit)
        let length = kind == "same" ? "\(limit)" : kind == "above" ? "\(limit + 1)" : "*"
        let part = kind.hasSuffix("long") ? String(repeating: "-", count: limit + 1) : "<a hr"
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            guard !request.values("range").isEmpty else {
                return .response(RewritingGateway.response(RewritingGateway.page(of: request)))
            }
            return .response(
                "HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\nETag: \"x\"\r\n"
                    + "Content-Range: bytes 0-\(part.utf8.count - 1)/\(length)\r\n"
                    + "Content-Length: \(part.utf8.count)\r\n\r\n\(part)"
            )
        }
        try await RewritingGateway.with(respond) { gateway, _ in
            let response = try await gateway.ask(host: "gw.example", fields: "Range: bytes=0-20000000\r\n")
            if kind == "above" {
                #expect(response.status == 206 && response.text == part && response["ETag"] == "\"x\"")
            } else {
                #expect(response.status == 200 && response["ETag"] == "W/\"x\"")
                #expect(response.text == RewritingGateway.page("http://gw.example/o"))
            }
        }
    }

    /// A 416 does not state the type, so a HEAD asks for it, unless the length decides.
    @Test(arguments: [0, 1]) func believesA416AboveTheLimit(more: Int) async throws {
        let length = Int(ResponseRewriting.contentLimit) + more
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            guard !request.values("range").isEmpty else {
                let page = request.line.hasPrefix("HEAD") ? "" : RewritingGateway.page(of: request)
                return .response(RewritingGateway.response(page))
            }
            return .response(
                "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */\(length)\r\nContent-Length: 0\r\n\r\n"
            )
        }
        try await RewritingGateway.with(respond) { gateway, origin in
            let response = try await gateway.ask(host: "gw.example", fields: "Range: bytes=99999999-\r\n")
            #expect(response.status == (more > 0 ? 416 : 200))
            #expect(origin.requests.contains { $0.line.hasPrefix("HEAD") } == (more == 0))
        }
    }
}
