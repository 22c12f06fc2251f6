import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HoldfastGateway

/// Responses that are compressed on their way out, over sockets.
@Suite(.timeLimit(.minutes(20))) struct CompressionGatewayTests {
    private static let gzip = "Accept-Encoding: gzip\r\n"
    private static let describing = ["Accept-Ranges", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest"]

    /// The bytes of all stored responses.
    private func stored(_ gateway: RunningGateway) -> [String] {
        gateway.store.all.compactMap { $0.content?.body.map { String(buffer: $0) } }
    }

    // MARK: The content

    @Test(
        arguments: [1024, 8192, 8193, 65_536, 65_537, 262_144, 262_145, 1_000_000],
        [(isChunked: false, isResident: true), (true, true), (false, false)]
    )
    func isTheSameAfterDecoding(length: Int, way: (isChunked: Bool, isResident: Bool)) async throws {
        let text = CompressedGateway.text(length)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .response(CompressedGateway.response(text, isChunked: way.isChunked))
        }
        try await CompressedGateway.with(respond, hasResidentBodies: way.isResident) { gateway, origin in
            for (fields, isCompressed) in [(Self.gzip, true), ("", false), (Self.gzip, true), (Self.gzip, true)] {
                for version in ["1.1", "1.0"] {
                    let request = "GET /o/a HTTP/\(version)\r\nHost: g\r\n\(fields)\r\n"
                    let response = try await gateway.send(request)
                    #expect(response.status == 200 && (response.isComplete || version == "1.0"))
                    #expect((response["Content-Encoding"] == "gzip") == isCompressed)
                    #expect(try response.decodedText() == text)
                    #expect(response["ETag"] == (isCompressed ? "W/\"x\"" : "\"x\""))
                    #expect(response["Vary"] == "Accept-Encoding")
                    for name in Self.describing { #expect((response[name] == nil) == isCompressed, "\(name)") }
                }
            }
            #expect(origin.requests.count == 1)
            #expect(gateway.store.all.first?.head.fields[.eTag] == "\"x\"")
            if way.isResident { #expect(stored(gateway) == [text]) }
        }
    }

    /// The origin's content is cut in two at each byte of its start, and the client sees all of it.
    @Test func isTheSameWhereverTheOriginCutsIt() async throws {
        let text = CompressedGateway.text(1200)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let cut = Int(request.target.drop { !$0.isNumber }) ?? 0
            return .stream { writer in
                let (first, second) = (text.utf8.prefix(cut), text.utf8.dropFirst(cut))
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/css\r\nTransfer-Encoding: chunked\r\n\r\n"
                func chunk(_ part: Substring.UTF8View.SubSequence) -> String {
                    part.isEmpty ? "" : "\(String(part.count, radix: 16))\r\n\(String(part) ?? "")\r\n"
                }
                try await writer.write(head + chunk(first[...]))
                try await writer.write(chunk(second[...]) + "0\r\n\r\n")
            }
        }
        try await CompressedGateway.with(respond) { gateway, _ in
            for cut in stride(from: 0, through: 1200, by: 1) {
                let response = try await RawClient.send(
                    "GET /o/\(cut) HTTP/1.1\r\nHost: g\r\n\(Self.gzip)\r\n",
                    to: gateway.port
                )
                try #require(response["Content-Encoding"] == "gzip", "\(cut)")
                try #require(try response.decodedText() == text, "\(cut)")
            }
        }
    }

    /// The first line arrives while the origin still has not sent the second.
    @Test func sendsWhatHasArrived() async throws {
        let (first, second) = (CompressedGateway.text(100), CompressedGateway.text(300))
        let gate = Gate()
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .stream { writer in
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
                try await writer.write(head + "\(String(first.utf8.count, radix: 16))\r\n\(first)\r\n")
                try await gate.wait()
                try await writer.write("\(String(second.utf8.count, radix: 16))\r\n\(second)\r\n0\r\n\r\n")
            }
        }
        try await CompressedGateway.with(respond) { gateway, _ in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send("GET /o/a HTTP/1.0\r\nHost: g\r\n\(Self.gzip)\r\n")
                var received: [UInt8] = []
                func content() -> [UInt8] {
                    guard let end = received.indices.first(where: { received[$0...].starts(with: "\r\n\r\n".utf8) })
                    else { return [] }
                    return Array(received[(end + 4)...])
                }
                while try Gzip.decoded(content(), isComplete: false).count < first.utf8.count {
                    received += try #require(await client.read())
                }
                #expect(try Gzip.decoded(content(), isComplete: false) == Array(first.utf8))
                gate.open()
                while let bytes = await client.read() { received += bytes }
                #expect(try Gzip.decoded(content()) == Array((first + second).utf8))
            }
        }
    }

    /// Thirty connections that accept different codings ask at once, over both protocols.
    @Test(arguments: [2000, 300_000], [true, false])
    func eachClientGetsACodingThatItAccepts(length: Int, isResident: Bool) async throws {
        let text = CompressedGateway.text(length)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .response(CompressedGateway.response(text))
        }
        let codings = ["gzip", "identity", "br", "*", "gzip;q=0", "deflate, gzip;q=0.5"]
        let compressed: Set = ["gzip", "*", "deflate, gzip;q=0.5"]
        try await CompressedGateway.with(respond, hasResidentBodies: isResident) { gateway, origin in
            let port = gateway.port
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<30 {
                    let coding = codings[number % codings.count]
                    group.addTask {
                        try await RawClient.with(port: port) { client in
                            if number % 4 < 2 {
                                for _ in 0..<4 {
                                    let fields = "Host: g\r\nAccept-Encoding: \(coding)\r\n"
                                    try await client.send("GET /o/a HTTP/1.1\r\n\(fields)\r\n")
                                    let response = try await client.response()
                                    let isCompressed = response["Content-Encoding"] == "gzip"
                                    try #require(isCompressed == compressed.contains(coding), "\(coding)")
                                    try #require(try response.decodedText() == text)
                                }
                                return
                            }
                            let frames = FrameClient(client)
                            try await frames.send(FrameClient.beginning())
                            for stream: UInt32 in [1, 3, 5, 7] {
                                let fields = [("accept-encoding", coding)]
                                try await frames.send(FrameClient.get("/o/a", on: stream, fields: fields))
                                let response = try #require(try await frames.responses([stream])[stream])
                                let isCompressed = response["content-encoding"] == "gzip"
                                try #require(isCompressed == compressed.contains(coding), "\(coding)")
                                let content = isCompressed ? try Gzip.decoded(response.content) : response.content
                                try #require(content == Array(text.utf8))
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(origin.requests.count == 1)
        }
    }

    // MARK: Hits

    /// The second response is kept in the form in which it was written, also if a task made it.
    @Test(arguments: [1024, 8192, 8193, 200_000]) func keepsTheCompressedForm(length: Int) async throws {
        let text = CompressedGateway.text(length)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .response(CompressedGateway.response(text))
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try await CompressedGateway.with(respond, group: group) { gateway, _ in
            for fields in [Self.gzip, "", "Accept-Encoding: gzip;q=0.5\r\n"] {
                let before = await gateway.server.hotResponseCount()
                var responses: [RawResponse] = []
                for _ in 0..<5 { responses.append(try await gateway.get("/o/a", fields: fields)) }
                for response in responses {
                    #expect((response["Content-Encoding"] == "gzip") == !fields.isEmpty)
                    #expect(try response.decodedText() == text)
                }
                // The first hit is long and not kept, so it may be written in pieces.
                #expect(responses.dropFirst(2).allSatisfy { $0["Content-Length"] == "\($0.content.count)" })
                #expect(await gateway.server.hotResponseCount() >= before + 2)
            }
        }
        try await group.shutdownGracefully()
    }

    @Test(arguments: ["", "Cookie: a=b\r\n", "Authorization: Basic eDp5\r\n"])
    func requestsWithCredentialsGetNoCoding(credentials: String) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            let fields = "Cache-Control: public, max-age=60\r\n"
            return .response(CompressedGateway.response(CompressedGateway.text(4000), fields: fields))
        }
        try await CompressedGateway.with(respond) { gateway, _ in
            for _ in 0..<4 {
                // A response to a request without credentials is hot.
                let other = try await gateway.get("/o/a", fields: Self.gzip)
                #expect(other["Content-Encoding"] == "gzip")
                let response = try await gateway.get("/o/a", fields: Self.gzip + credentials)
                #expect((response["Content-Encoding"] == nil) == !credentials.isEmpty)
                #expect(response["Vary"] == "Accept-Encoding")
            }
        }
    }

    // MARK: Heads, validations and ranges

    @Test(arguments: ["no-store", "max-age=3600"], [Self.gzip, ""])
    func respondsToHeadAsToGet(control: String, fields: String) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let fields = "Cache-Control: \(control)\r\n"
            let response = CompressedGateway.response(CompressedGateway.text(4000), fields: fields)
            guard request.line.hasPrefix("HEAD") else { return .response(response) }
            return .response(String(response.split(separator: "\r\n\r\n", maxSplits: 1)[0]) + "\r\n\r\n")
        }
        try await CompressedGateway.with(respond) { gateway, _ in
            for _ in 0..<4 {
                let get = try await gateway.get("/o/a", fields: fields)
                let head = try await gateway.send("HEAD /o/a HTTP/1.1\r\nHost: g\r\n\(fields)\r\n")
                for name in ["Content-Type", "Content-Encoding", "ETag", "Vary", "Accept-Ranges", "Repr-Digest"] {
                    #expect(head[name] == get[name], "\(name)")
                }
                // A length, if there is one, is the length of the other response.
                #expect(head["Content-Length"] == nil || head["Content-Length"] == get["Content-Length"])
                if fields.isEmpty { #expect(head["Content-Length"] == "4000") }
            }
        }
    }

    /// Mutant: `gzip-304-keeps-a-strong-tag`.
    @Test(
        arguments: [
            ("\"x\"", 304, "\"x\""), ("W/\"x\"", 304, "W/\"x\""), ("\"y\"", 200, nil), ("*", 304, "W/\"x\""),
            ("\"y\", W/\"x\"", 304, "W/\"x\""), ("W/\"y\"", 200, nil),
        ] as [(String, Int, String?)],
        [Self.gzip, "", Self.gzip + "Cookie: a\r\n"]
    )
    func validatesCompressedResponsesByTheirTags(condition: (tags: String, status: Int, tag: String?), fields: String)
        async throws
    {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            let control = "Cache-Control: public, max-age=60\r\n"
            return .response(CompressedGateway.response(CompressedGateway.text(4000), fields: control))
        }
        try await CompressedGateway.with(respond) { gateway, _ in
            _ = try await gateway.get("/o/a")
            for _ in 0..<3 {
                let response = try await gateway.get("/o/a", fields: fields + "If-None-Match: \(condition.tags)\r\n")
                #expect(response.status == condition.status)
                let isCompressed = fields == Self.gzip
                #expect(response["ETag"] == condition.tag ?? (isCompressed ? "W/\"x\"" : "\"x\""))
                #expect(response["Vary"] == "Accept-Encoding")
                if condition.status == 304 { #expect(response["Content-Encoding"] == nil) }
            }
        }
    }

    /// Mutant: `gzip-combines-forms-by-date`.
    @Test(
        arguments: [
            ("", 206), ("If-Range: \"x\"\r\n", 206), ("If-Range: W/\"x\"\r\n", 200), ("If-Range: \"y\"\r\n", 200),
            ("If-Range: Thu, 01 Jan 2015 00:00:00 GMT\r\n", 200), ("If-Range: Fri, 02 Jan 2015 00:00:00 GMT\r\n", 200),
        ],
        [Self.gzip, ""]
    )
    func partsAreOfTheFormWithoutACoding(condition: (fields: String, status: Int), coding: String) async throws {
        let text = CompressedGateway.text(4000)
        try await CompressedGateway.with { gateway, _ in
            _ = try await gateway.get("/o/a")
            for range in ["bytes=0-9", "bytes=3990-", "bytes=-10"] {
                let fields = "\(coding)Range: \(range)\r\n\(condition.fields)"
                let response = try await gateway.get("/o/a", fields: fields)
                #expect(response.status == condition.status)
                #expect(response["Vary"] == "Accept-Encoding")
                guard response.status == 206 else {
                    #expect(try response.decodedText() == text)
                    continue
                }
                #expect(response["Content-Encoding"] == nil && response["ETag"] == "\"x\"")
                let part = range == "bytes=0-9" ? text.utf8.prefix(10) : text.utf8.suffix(10)
                #expect(response.content == Array(part))
            }
        }
    }

    /// Parts of the origin, which are not stored, are judged in the same way.
    @Test func partsOfTheOriginPass() async throws {
        let text = CompressedGateway.text(4000)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let fields = "Cache-Control: no-store\r\n"
            guard request.values("range") == ["bytes=0-9"] else {
                return .response(CompressedGateway.response(text, fields: fields))
            }
            let part = fields + "Content-Range: bytes 0-9/4000\r\n"
            return .response(
                CompressedGateway.response(String(text.prefix(10)), status: "206 Partial Content", fields: part)
            )
        }
        try await CompressedGateway.with(respond) { gateway, _ in
            let plain = try await gateway.get("/o/a", fields: Self.gzip + "Range: bytes=0-9\r\n")
            #expect(plain.status == 206 && plain.text == text.prefix(10) && plain["ETag"] == "\"x\"")
            let date = "Range: bytes=0-9\r\nIf-Range: Thu, 01 Jan 2015 00:00:00 GMT\r\n"
            let whole = try await gateway.get("/o/a", fields: Self.gzip + date)
            #expect(whole.status == 200 && whole["Content-Encoding"] == "gzip")
            #expect(try whole.decodedText() == text)
        }
    }

    // MARK: Other transforms, and none

    @Test func compressesRewrittenContent() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = {
            .response(
                RewritingGateway.response(RewritingGateway.page(of: $0, repeating: 40), fields: RewritingGateway.fresh)
            )
        }
        try await CompressedGateway.with(rewriting: RewritingGateway.html, respond) { gateway, _ in
            for host in ["one.example", "two.example", "one.example"] {
                let response = try await gateway.ask(host: host, fields: Self.gzip)
                #expect(response["Content-Encoding"] == "gzip" && response["ETag"] == "W/\"x\"")
                #expect(try response.decodedText() == RewritingGateway.page("http://\(host)/o", repeating: 40))
            }
            #expect(await gateway.server.hotResponseCount() == 0)
        }
    }

    @Test func compressesWhatIsNotStored() async throws {
        let text = CompressedGateway.text(4000)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .response(CompressedGateway.response(text, fields: "Cache-Control: no-store\r\n"))
        }
        try await CompressedGateway.with(respond) { gateway, _ in
            for _ in 0..<3 {
                let response = try await gateway.get("/o/a", fields: Self.gzip)
                #expect(response["Content-Encoding"] == "gzip" && response["Vary"] == "Accept-Encoding")
                #expect(try response.decodedText() == text)
                let plain = try await gateway.get("/o/a")
                #expect(plain.text == text && plain["Vary"] == "Accept-Encoding" && plain["ETag"] == "\"x\"")
            }
        }
    }

    @Test func isOffByDefault() async throws {
        #expect(try GatewayRoute(origin: GatewayOrigin("http://a")).compresses == false)
        try await CompressedGateway.with(compresses: false) { gateway, _ in
            for _ in 0..<3 {
                let response = try await gateway.get("/o/a", fields: Self.gzip)
                #expect(response["Content-Encoding"] == nil && response["Vary"] == nil && response["ETag"] == "\"x\"")
            }
        }
    }

    // MARK: Cost

    /// Content of any length holds no event loop for long.
    @Test(arguments: [60_000, 250_000, 2_000_000]) func longContentHoldsNoLoop(length: Int) async throws {
        let text = CompressedGateway.text(length)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .response(CompressedGateway.response(text))
        }
        let slow = try await ProcessorTime.stepsOverLimit { steps in
            try await LoopMeter.with { group, meter in
                try await CompressedGateway.with(respond, group: group) { gateway, _ in
                    for _ in 0..<3 {
                        _ = try await meter.longest()
                        let response = try await gateway.get("/o/a", fields: Self.gzip)
                        steps.add("\(length)", try await meter.longest())
                        #expect(response.status == 200 && response.isComplete)
                    }
                }
            }
        }
        #expect(slow.isEmpty, "\(slow)")
    }
}
