import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// Relayed responses: which ones are relayed, and that clients see no difference.
@Suite(.timeLimit(.minutes(20))) struct RelayedResponseTests {
    private static let plain = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\nabc"

    @Test func plainResponsesAreRelayed() throws {
        let response = try #require(RelayedMessage(ByteBuffer(string: Self.plain), limits: MessageLimits()))
        #expect(response.status == 200)
        #expect(response.content == ByteBuffer(string: "abc"))
        #expect(!response.hasDate)
        #expect(response.isKeptAlive)
    }

    @Test(arguments: [
        // Incomplete, or with further bytes.
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\nabcd",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 3\r\n",
        // Other framing.
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: +3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
        "HTTP/1.0 200 OK\r\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 304 Not Modified\r\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 206 Partial Content\r\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 103 Early Hints\r\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 600 Six\r\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\nabc",
        // It may be stored, or another field decides that.
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store, must-understand\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nCache-Control: must-understand\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: foo=\"no-store\"\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nCDN-Cache-Control: max-age=60\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        // It must be changed.
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nConnection: x-a\r\nX-A: 1\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nCache-Status: other; hit\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nX-A:1\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nX-A: 1 \r\nContent-Length: 3\r\n\r\nabc",
        // Not a response at all.
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nX-A : 1\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n X-A: 1\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nX-A: a\rb\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nX-A: a\u{0}b\r\nContent-Length: 3\r\n\r\nabc",
    ])
    func otherResponsesAreDecoded(_ text: String) {
        #expect(RelayedMessage(ByteBuffer(string: text), limits: MessageLimits()) == nil)
    }

    /// Mutant: a limit that is not applied here.
    @Test func limitsApplyToRelayedResponses() {
        let bytes = ByteBuffer(string: Self.plain)
        var limits = MessageLimits()
        limits.fieldBlock = 30
        #expect(RelayedMessage(bytes, limits: limits) == nil)
        limits = MessageLimits()
        limits.fieldCount = 1
        #expect(RelayedMessage(bytes, limits: limits) == nil)
    }

    /// A relayed response equals, byte for byte, the one that decoding and encoding would produce,
    /// and may not be stored.
    @Test(arguments: 0..<8) func relayedResponseEqualsDecodedResponse(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var relayed = 0
        for _ in 0..<2_000 {
            let bytes = ByteBuffer(string: Self.randomResponse(&random))
            guard let response = RelayedMessage(bytes, limits: MessageLimits()) else { continue }
            relayed += 1
            var decoder = ResponseDecoder(method: .get)
            decoder.append(bytes)
            guard case .head(let head)? = try decoder.next(), case .length(let length) = head.framing else {
                Issue.record("It is not a whole response: \(String(buffer: bytes))")
                continue
            }
            #expect(head.isKeptAlive == response.isKeptAlive)
            #expect(head.response.status.code == response.status)
            #expect(response.parsedHead() == head.response)
            let storability = CachePolicy(kind: .shared).storability(
                of: head.response,
                to: HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/"),
                hasCredentials: false
            )
            if case .forbidden = storability {} else { Issue.record("It may be stored: \(String(buffer: bytes))") }
            for framing in Self.framings(head.response.status, length) {
                var passed = head.response
                passed.headerFields = ForwardedFields.ofResponse(passed.headerFields)
                if passed.headerFields[.date] == nil {
                    passed.headerFields.append(HTTPField(name: .date, value: "now"))
                }
                var expected = framing.bytes(
                    of: GatewayResponseHead(
                        response: passed,
                        facts: .relayed,
                        via: "1.1 here",
                        cacheStatus: "here; fwd=miss"
                    )
                )
                expected.writeImmutableBuffer(response.content)
                let written = framing.bytes(
                    of: response,
                    date: response.hasDate ? nil : "now",
                    via: "1.1 here",
                    cacheStatus: "here; fwd=miss",
                    content: response.content
                )
                let (text, expectedText) = (String(buffer: written), String(buffer: expected))
                #expect(text == expectedText)
            }
        }
        #expect(relayed > 200)
    }

    private static func framings(_ status: HTTPResponse.Status, _ length: StatedLength) -> [ResponseFraming] {
        [(0, false), (0, true), (1, false), (1, true)].map { minorVersion, isKeptAlive in
            ResponseFraming(
                status.code,
                to: .get,
                minorVersion: minorVersion,
                length: length,
                isKeptAlive: isKeptAlive
            )
        }
    }

    /// A response like those that are relayed, which may have a part that prevents it.
    private static func randomResponse(_ random: inout SeededRandom) -> String {
        let common = [
            "Content-Type: text/plain", "Server: a", "Date: Thu, 01 Jan 1970 00:00:00 GMT", "X-Frame-Options: DENY",
            "Strict-Transport-Security: max-age=1", "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d", "ETag: \"1\"",
            "Connection: keep-alive", "Connection: close", "Connection: Keep-Alive , close", "Keep-Alive: timeout=5",
            "Via: 1.1 other", "Age: 3", "Vary: Accept", "x-lower: yes", "Expires: 0", "Last-Modified: never",
        ]
        let rare = [
            "Connection: x-lower", "TE: trailers", "Trailer: X-A", "Proxy-Authenticate: Basic", "Cache-Status: other",
            "CDN-Cache-Control: no-store", "X-Empty:", "X-Obs: \u{e9}", "X-Tab: a\tb", "X-Spaced:  a", "Warning: ",
            "Transfer-Encoding: chunked", "HTTP2-Settings: a", "Proxy-Connection: close", "Upgrade: a",
        ]
        let controls = [
            "no-store", "No-Store", "private, no-cache, no-store, max-age=0, must-revalidate", "no-store, foo=\"a, b\"",
            "no-store=1", "max-age=0, no-store", "no-store, must-understand", "private", "foo=\"no-store\"",
        ]
        let statuses = [
            "200 OK", "200 Fine", "404 Not Found", "503 Away", "302 Found", "200 ", "200", "304 No", "201 C",
        ]
        var lines = (0..<Int.random(in: 0...7, using: &random)).compactMap { _ in
            common.randomElement(using: &random)
        }
        if Int.random(in: 0..<8, using: &random) == 0, let line = rare.randomElement(using: &random) {
            lines.append(line)
        }
        let control = Int.random(in: 0..<3, using: &random) > 0 ? controls[0] : controls.randomElement(using: &random)
        lines.append("Cache-Control: \(control ?? "")")
        let content = String(repeating: "x", count: Int.random(in: 0...20, using: &random))
        lines.append("Content-Length: \(content.utf8.count)")
        lines.shuffle(using: &random)
        let status = Bool.random(using: &random) ? statuses[0] : statuses.randomElement(using: &random)
        return "HTTP/1.1 \(status ?? "")\r\n\(lines.joined(separator: "\r\n"))\r\n\r\n\(content)"
    }
}
