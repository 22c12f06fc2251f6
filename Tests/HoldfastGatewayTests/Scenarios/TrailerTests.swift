import HTTP2Client
import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import NIOCore
import Testing

@testable import HoldfastGateway

/// Trailers pass through the gateway, in both directions and by both protocols, where nothing is
/// stored. RFC 9110 §6.5
///
/// Mutants: trailers that another request gets; trailers of a stored response; fields of a head
/// among them.
@Suite(.timeLimit(.minutes(20))) struct TrailerTests {
    /// A client's protocol.
    enum Door: String, CaseIterable {
        case http1, http2
    }

    /// A response as a client of either protocol has it.
    fileprivate struct Response: Equatable {
        var status: Int
        var text: String
        var trailers: [String]
        var isWhole = true
    }

    private static let wanting = "TE: trailers\r\nConnection: TE\r\n"
    private static let chunked = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n"

    /// A response of an origin that is not stored.
    private static func response(_ content: String, _ trailers: String..., fields: String = "") -> String {
        chunked + fields + "\r\n" + chunks(content, trailers)
    }

    private static func chunks(_ content: String, _ trailers: [String]) -> String {
        let chunk = content.isEmpty ? "" : "\(String(content.utf8.count, radix: 16))\r\n\(content)\r\n"
        return chunk + "0\r\n" + trailers.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    /// Sends a request and reads its response; the names of trailers are in lower case.
    private func send(
        _ door: Door,
        _ method: String = "GET",
        _ path: String = "/",
        content: String? = nil,
        trailers: [String] = [],
        to gateway: RunningGateway
    ) async throws -> Response {
        var request = DowngradedRequest(path)
        (request.method, request.target, request.trailers) = (method, path, trailers)
        if let content { request.content = .unknownLength(content) }
        return try await RawClient.with(port: gateway.port) { client in
            switch door {
            case .http1:
                request.http1Fields = ["te: trailers", "connection: te"]
                return Response(try await client.exchange(request))
            case .http2:
                let session = try #require(HTTP2ClientSession())
                return Response(try await client.exchange(request, session))
            }
        }
    }

    // MARK: Of responses

    /// On the loop and in a task.
    @Test(arguments: Door.allCases) func trailersFollowTheContentOfAResponse(_ door: Door) async throws {
        let step = RawOrigin.Step.response(Self.response("hello", "X-Sum: 5", "Server-Timing: a", "X-Sum: 6"))
        try await RawOrigin.with([step, step]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                for method in ["GET", "POST"] {
                    let response = try await send(door, method, to: gateway)
                    #expect(
                        response
                            == Response(
                                status: 200,
                                text: "hello",
                                trailers: ["x-sum: 5", "server-timing: a", "x-sum: 6"]
                            )
                    )
                }
                #expect(origin.connectionCount == 1)
            }
        }
    }

    @Test(arguments: Door.allCases) func trailersPassWithoutContent(_ door: Door) async throws {
        try await RawOrigin.with([.response(Self.response("", "X-Sum: 0"))]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await send(door, to: gateway)
                #expect(response == Response(status: 200, text: "", trailers: ["x-sum: 0"]))
            }
        }
    }

    @Test(arguments: Door.allCases) func trailersWaitForContentThatAWindowHoldsBack(_ door: Door) async throws {
        let content = String(repeating: "0123456789abcdef", count: 1 << 15)
        let slow = RawOrigin.Step.stream { writer in
            try await writer.write(Self.chunked + "\r\n")
            try await writer.write(Self.chunks(content, ["X-Sum: long"]))
        }
        try await RawOrigin.with([slow]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await send(door, to: gateway)
                #expect(response.text == content)
                #expect(response.trailers == ["x-sum: long"])
            }
        }
    }

    @Test(arguments: Door.allCases) func trailersFollowTheContentHoweverLate(_ door: Door) async throws {
        let gates = Gates()
        let late = RawOrigin.Step.stream { writer in
            try await writer.write(Self.chunked + "\r\n1\r\na\r\n")
            await gates.pass("end")
            for byte in "0\r\nX-Sum: 1\r\n\r\n" { try await writer.write(String(byte)) }
        }
        try await RawOrigin.with([late]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                async let response = send(door, to: gateway)
                await gates.arrival(at: "end")
                gates.open("end")
                let received = try await response
                #expect(received == Response(status: 200, text: "a", trailers: ["x-sum: 1"]))
            }
        }
    }

    /// RFC 9110 §6.5.1.
    @Test(arguments: ["1.0", "1.1"]) func http1ClientThatDoesNotAskGetsNoTrailers(_ version: String) async throws {
        let step = RawOrigin.Step.response(Self.response("hello", "X-Sum: 5"))
        try await RawOrigin.with([step, step]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let fields = ["", version == "1.0" ? Self.wanting : "TE: gzip, trailers;q=0\r\nConnection: TE\r\n"]
                for fields in fields {
                    let response = try await gateway.send("GET / HTTP/\(version)\r\nHost: g\r\n\(fields)\r\n")
                    #expect(response.text == "hello")
                    #expect(response.trailers.isEmpty)
                    #expect(response.fields.allSatisfy { $0.name.lowercased() != "x-sum" })
                }
            }
        }
    }

    /// These are HEAD, 204 and 304.
    @Test(arguments: Door.allCases) func responseWithoutContentHasNoTrailers(_ door: Door) async throws {
        let steps = [
            Self.chunked + "\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
        ]
        try await RawOrigin.with(steps.map { .response($0) }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                for (method, status) in [("HEAD", 200), ("POST", 204), ("POST", 304)] {
                    let response = try await send(door, method, to: gateway)
                    #expect(response == Response(status: status, text: "", trailers: []))
                }
            }
        }
    }

    @Test(arguments: Door.allCases) func fieldsOfAHeadAreLeftOutAndNeverJoinIt(_ door: Door) async throws {
        let step = RawOrigin.Step.response(
            Self.response(
                "hello",
                "Content-Length: 9",
                "Transfer-Encoding: gzip",
                "Set-Cookie: a=1",
                "X-Mine: 1",
                "Cache-Control: max-age=60",
                "X-Sum: 5",
                "Location: /evil",
                "Via: 1.1 evil",
                fields: "Connection: x-mine\r\n"
            )
        )
        try await RawOrigin.with([step, .ok("next")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await send(door, to: gateway)
                #expect(response == Response(status: 200, text: "hello", trailers: ["x-sum: 5"]))
                #expect(try await gateway.get("/").text == "next")
            }
        }
    }

    @Test(arguments: Door.allCases) func tooManyOrMalformedTrailersBreakTheResponseOff(_ door: Door) async throws {
        let many = String(repeating: "X-A: 1\r\n", count: 129)
        for section in [
            "X-A: \(String(repeating: "a", count: 9_000))\r\n", many, "X A: 1\r\n", "X-A: \u{1}\r\n", " x\r\n",
        ] {
            let bytes = Self.chunked + "\r\n1\r\na\r\n"
            let step = RawOrigin.Step.stream { writer in
                try await writer.write(bytes)
                try await writer.write("0\r\n" + section + "\r\n")
            }
            try await RawOrigin.with([step]) { origin in
                try await RunningGateway.with(origin: origin.url) { gateway in
                    let response = try await send(door, to: gateway)
                    #expect(!response.isWhole || response.status == 502, "\(section.prefix(20))")
                    #expect(response.trailers.isEmpty)
                }
            }
        }
    }

    // MARK: Of stored responses

    /// RFC 9111 §3 allows a cache to store a response without its trailers.
    @Test(arguments: Door.allCases) func storedResponseItsFollowersAndHitsLoseTrailers(_ door: Door) async throws {
        let gates = Gates()
        let step = RawOrigin.Step.stream { writer in
            try await writer.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n")
            await gates.pass("content")
            try await writer.write(Self.chunks("hello", ["X-Sum: 5", "Set-Cookie: a=1"]))
        }
        try await RawOrigin.with([step]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await withThrowingTaskGroup(of: Response.self) { group in
                    for _ in 1...8 { group.addTask { try await send(door, to: gateway) } }
                    await gates.arrival(at: "content")
                    gates.open("content")
                    for try await response in group {
                        #expect(response == Response(status: 200, text: "hello", trailers: []))
                    }
                }
                await gateway.waitForFills(upTo: 0)
                for _ in 1...3 {
                    let hit = try await send(door, to: gateway)
                    #expect(hit == Response(status: 200, text: "hello", trailers: []))
                }
                let fields = try await gateway.get("/").fields.map { $0.name.lowercased() }
                #expect(!fields.contains("x-sum") && !fields.contains("set-cookie"))
                #expect(origin.requests.count == 1)
            }
        }
    }

    // MARK: Of requests

    @Test(arguments: Door.allCases) func trailersFollowTheContentOfARequest(_ door: Door) async throws {
        let long = String(repeating: "x", count: 200_000)
        try await RawOrigin.with(respond: { _ in .ok("a") }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                for content in ["hello", "", long] {
                    let response = try await send(door, "POST", content: content, trailers: ["x-sum: 1"], to: gateway)
                    #expect(response.status == 200)
                    let request = try #require(origin.requests.last)
                    #expect(request.values("Transfer-Encoding") == ["chunked"])
                    #expect(request.trailers == ["x-sum: 1"])
                }
            }
        }
    }

    @Test(arguments: Door.allCases) func fieldsOfARequestsHeadAreLeftOutAndNeverJoinIt(_ door: Door) async throws {
        try await RawOrigin.with(respond: { _ in .ok("a") }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let trailers = [
                    "host: evil", "x-forwarded-for: 9.9.9.9", "x-sum: 1", "authorization: Basic eA==", "cookie: a=1",
                    "x-http-method-override: DELETE", "x_sum: 2", "expect: 100-continue", "via: 1.1 evil",
                ]
                let response = try await send(door, "POST", content: "abc", trailers: trailers, to: gateway)
                #expect(response.status == 200)
                let request = try #require(origin.requests.last)
                #expect(request.trailers == ["x-sum: 1"])
                #expect(request.values("Host") == [origin.authority])
                for name in ["Authorization", "Cookie", "X-Sum"] { #expect(request.values(name).isEmpty) }
                #expect(!request.text.contains("9.9.9.9"))
            }
        }
    }

    @Test(arguments: ["Content-Length: 3", "Transfer-Encoding: x"])
    func trailersThatFrameTheMessageSmuggleNoRequest(_ trailer: String) async throws {
        try await RawOrigin.with(respond: { _ in .ok("a") }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    let post = "POST /a HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n"
                    try await client.send(post + Self.chunks("abc", [trailer]) + "GET /b HTTP/1.1\r\nHost: g\r\n\r\n")
                    for _ in 1...2 { #expect(try await client.response().status == 200) }
                }
                #expect(origin.requests.map(\.target) == ["/a", "/b"])
                #expect(origin.requests.first?.trailers == [])
                // HTTP/2 has no place for them: the request is malformed. RFC 9113 §8.1.1
                let lowercased = [trailer.lowercased()]
                let response = try await send(.http2, "POST", "/c", content: "abcd", trailers: lowercased, to: gateway)
                #expect(!response.isWhole || (400..<500).contains(response.status))
            }
        }
    }

    @Test func contentWithLengthAndGETHaveNoPlaceForTrailers() async throws {
        try await RawOrigin.with(respond: { _ in .ok("a", fields: "Cache-Control: max-age=60\r\n") }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await send(.http1, content: "abc", trailers: ["x-sum: 1"], to: gateway)
                #expect(response.text == "a")
                #expect(origin.requests.last?.content == [])
                try await RawClient.with(port: gateway.port) { client in
                    let session = try #require(HTTP2ClientSession())
                    var request = DowngradedRequest("sized")
                    request.method = "PUT"
                    request.http2Fields = ["content-length: 3"]
                    (request.content, request.trailers) = (.unknownLength("abc"), ["x-sum: 1"])
                    #expect(try await client.exchange(request, session).status == 200)
                }
                #expect(origin.requests.last?.values("Content-Length") == ["3"])
                #expect(origin.requests.last?.contentText == "abc")
            }
        }
    }

    @Test(arguments: Door.allCases) func refusesTooLargeTrailersOfARequest(
        _ door: Door
    )
        async throws
    {
        try await RawOrigin.with(respond: { _ in .ok("a") }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let many = (0..<129).map { "x-\($0): 1" }
                for trailers in [["x-a: " + String(repeating: "a", count: 9_000)], many] {
                    let response = try await send(door, "POST", content: "abc", trailers: trailers, to: gateway)
                    #expect(response.status == 431)
                }
                // As many as may be.
                let trailers = (0..<128).map { "x-\($0): 1" }
                let response = try await send(door, "POST", content: "abc", trailers: trailers, to: gateway)
                #expect(response.status == 200)
                #expect(origin.requests.last?.trailers == trailers)
            }
        }
    }

    /// Trailers are no part of the key.
    @Test(arguments: Door.allCases) func queryWithTrailersIsNotKeyed(_ door: Door) async throws {
        try await RawOrigin.with(respond: { .ok($0.trailers.first ?? "none", fields: "Cache-Control: max-age=60\r\n") })
        {
            origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                for trailers in [["x-sum: 1"], ["x-sum: 2"], [], ["host: evil"]] {
                    let response = try await send(door, "QUERY", content: "q", trailers: trailers, to: gateway)
                    #expect(response.text == trailers.first { $0.hasPrefix("x") } ?? "none")
                    await gateway.waitForFills(upTo: 0)
                }
                // The last one is a hit: nothing of its trailers passes.
                #expect(origin.requests.count == 3)
            }
        }
    }

    // MARK: Rules

    @Test func rulesThatChangeFieldsReachTrailersOfTheirName() async throws {
        var settings = ExchangeSettings()
        settings.requestFields = FieldEdits(removed: [.literal("X-Gone")], set: [.literal("X-Set"): "mine"])
        settings.responseFields = FieldEdits(removed: [.literal("X-Secret")])
        settings.tagFields = [.surrogateKey]
        let trailers = ["X-Secret: 1", "Surrogate-Key: a", "X-Sum: 5"]
        let reply = Self.chunked + "\r\n" + Self.chunks("hello", trailers)
        try await RawOrigin.with(respond: { _ in .response(reply) }) { origin in
            try await RunningGateway.with(origin: origin.url, rules: FixedRules(settings)) { gateway in
                let sent = ["x-gone: 1", "x-set: theirs", "x-sum: 1"]
                for method in ["GET", "POST"] {
                    let response = try await send(.http2, method, content: "abc", trailers: sent, to: gateway)
                    #expect(response.trailers == ["x-sum: 5"])
                }
                #expect(origin.requests.last?.trailers == ["x-sum: 1"])
                #expect(origin.requests.last?.values("X-Set") == ["mine"])
            }
        }
    }

    @Test(arguments: Door.allCases) func routeThatDropsUnknownFieldsDropsTrailers(_ door: Door) async throws {
        try await RawOrigin.with(respond: { _ in .ok("a") }) { origin in
            let configure: (inout GatewayConfiguration) -> Void = { configuration in
                var route = configuration.routes.routes[0]
                route.unknownFields = .drop
                if let routes = try? GatewayRoutes([route]) { configuration.routes = routes }
            }
            try await RunningGateway.with(origin: origin.url, configure: configure) { gateway in
                _ = try await send(door, "POST", content: "abc", trailers: ["x-sum: 1"], to: gateway)
                #expect(origin.requests.last?.trailers == [])
                #expect(origin.requests.last?.content.isEmpty == false)
            }
        }
    }

    // MARK: Many at once

    @Test func eachRequestHasItsOwnTrailersAmongThirtyConnections() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            // A response to a request with none has none.
            .response(Self.chunked + "\r\n" + Self.chunks(request.target, request.trailers))
        }
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for connection in 0..<30 {
                        group.addTask {
                            for number in 0..<20 {
                                let own = number.isMultiple(of: 3) ? [] : ["x-own: \(connection)-\(number)"]
                                let response = try await send(
                                    connection.isMultiple(of: 2) ? .http1 : .http2,
                                    "POST",
                                    "/\(connection)/\(number)",
                                    content: "abc",
                                    trailers: own,
                                    to: gateway
                                )
                                #expect(response.text == "/\(connection)/\(number)")
                                #expect(response.trailers == own)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func eachRequestHasItsOwnTrailersOnOneConnection() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            .response(Self.chunked + "\r\n" + Self.chunks(request.target, request.trailers))
        }
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    var pipelined = ""
                    for number in 0..<30 {
                        pipelined +=
                            "POST /\(number) HTTP/1.1\r\nHost: g\r\n\(Self.wanting)Transfer-Encoding: chunked\r\n\r\n"
                        pipelined += Self.chunks("abc", number.isMultiple(of: 3) ? [] : ["x-own: \(number)"])
                    }
                    try await client.send(pipelined)
                    for number in 0..<30 {
                        let response = try await client.response()
                        #expect(response.text == "/\(number)")
                        #expect(response.trailers == (number.isMultiple(of: 3) ? [] : ["x-own: \(number)"]))
                    }
                }
                try await RawClient.with(port: gateway.port) { client in
                    let session = try #require(HTTP2ClientSession())
                    var streams: [Int32: Int] = [:]
                    for number in 0..<30 {
                        var request = DowngradedRequest("\(number)")
                        (request.method, request.target) = ("POST", "/\(number)")
                        request.content = .unknownLength("abc")
                        if !number.isMultiple(of: 3) { request.trailers = ["x-own: \(number)"] }
                        let (fields, upload) = request.http2
                        streams[try session.request(fields, upload)] = number
                    }
                    while streams.keys.contains(where: { session.responses[$0]?.isOver == false }) {
                        let output = try session.takeOutput()
                        if !output.isEmpty { try await client.send(output) }
                        guard let bytes = await client.read() else { break }
                        try session.receive(bytes)
                    }
                    for (stream, number) in streams {
                        let response = Response(try #require(session.take(stream)))
                        #expect(response.text == "/\(number)")
                        #expect(response.trailers == (number.isMultiple(of: 3) ? [] : ["x-own: \(number)"]))
                    }
                }
            }
        }
    }
}

extension TrailerTests.Response {
    fileprivate init(_ response: RawResponse) {
        self.init(
            status: response.status,
            text: response.text,
            trailers: response.trailers.map { line in
                let name = line.prefix { $0 != ":" }
                return name.lowercased() + line.dropFirst(name.count)
            },
            isWhole: response.isComplete
        )
    }

    fileprivate init(_ response: HTTP2Response) {
        self.init(
            status: response.status,
            text: String(decoding: response.content, as: UTF8.self),
            trailers: response.trailers.map { "\($0.name): \($0.text)" },
            isWhole: response.failure == nil
        )
    }
}
