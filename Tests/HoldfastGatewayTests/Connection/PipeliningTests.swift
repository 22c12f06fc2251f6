import HoldfastGateway
import HoldfastTesting
import Testing

/// The claims of ``ConnectionMachineTests``, tested on the gateway over sockets: with hits, misses
/// and content that is not read.
@Suite(.timeLimit(.minutes(20)))
struct PipeliningTests {
    private static let requests: [PipelineTranscript.Request] = [
        .init(content: .length(5)), .init(headLength: 3000), .init(content: .chunked([3, 400])),
        .init(method: "POST", content: .length(2000)), .init(), .init(content: .length(40)), .init(headLength: 2048),
    ]

    /// The request's first two words, so that a response shows to which request it belongs.
    private static let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
        let words = request.line.split(separator: " ").prefix(2).joined(separator: " ")
        return .ok(words, fields: "Cache-Control: max-age=60\r\n")
    }

    @Test(arguments: RawClient.counts) func eachRequestGetsItsResponseHoweverItIsCut(connections: Int) async throws {
        try await RawOrigin.with(respond: Self.respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.onEach(of: connections, port: gateway.port) { client, number in
                    var random = SeededRandom(seed: UInt64(number))
                    let transcript = PipelineTranscript(Self.requests, prefix: "/\(number)/")
                    let expected = ReferenceParser.requests(in: transcript.bytes).map { "\($0.method) \($0.target)" }
                    for _ in 0..<8 {
                        // One piece holds the end of a head or content, and the start of the bytes
                        // after it.
                        let border = transcript.borders.randomElement(using: &random) ?? 0
                        let places = [
                            border - 2, border + Int.random(in: 0...2000, using: &random),
                            Int.random(in: 0..<transcript.bytes.count, using: &random),
                        ]
                        for piece in transcript.pieces(cutAt: places) { try await client.send(Array(piece)) }
                        for expected in expected { try #require(try await client.response().text == expected) }
                    }
                }
            }
        }
    }

    @Test(arguments: RawClient.counts)
    func requestAfterContentInTwoPiecesGetsItsResponse(connections: Int) async throws {
        let gates = Gates()
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let target = request.target
            guard target.hasSuffix("0") else { return .ok(target) }
            return .stream { writer in
                await gates.pass(target)
                try await writer.write("HTTP/1.1 200 OK\r\nContent-Length: \(target.utf8.count)\r\n\r\n\(target)")
            }
        }
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.onEach(of: connections, port: gateway.port) { client, number in
                    let transcript = PipelineTranscript(Array(Self.requests.prefix(2)), prefix: "/\(number)/")
                    let border = transcript.borders[1]
                    let pieces = transcript.pieces(cutAt: [transcript.borders[0] + 2, border + 10])
                    try await client.send(Array(pieces[0]))
                    // By now the content is being dropped, and the response has not come.
                    await gates.arrival(at: "/\(number)/0")
                    for piece in pieces.dropFirst() { try await client.send(Array(piece)) }
                    gates.open("/\(number)/0")
                    for request in 0...1 {
                        try #require(try await client.response().text == "/\(number)/\(request)")
                    }
                }
            }
        }
    }
}
