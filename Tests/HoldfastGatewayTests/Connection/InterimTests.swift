import HTTPCache
import Testing

/// Every client whose request goes to the origin gets the interim responses to it, before the final
/// one. RFC 9110 §15.2
@Suite(.timeLimit(.minutes(20)))
struct InterimTests {
    /// How a final response reaches the client; the paths through the gateway differ.
    enum Final: String, CaseIterable, Sendable {
        /// It is relayed if no interim response came before it.
        case unstored = "Content-Length: 2\r\n\r\nok"
        case stored = "Cache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok"
        case forbidden = "Cache-Control: no-store\r\nContent-Length: 2\r\n\r\nok"
        case chunked = "Cache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        case closing = "Connection: close\r\n\r\nok"
    }

    private static func respond(_ final: Final, inTwo: Bool) -> @Sendable (RawOrigin.Request) -> RawOrigin.Step {
        { request in
            let interim = "HTTP/1.1 103 Early Hints\r\nLink: <\(request.target)>\r\nSet-Cookie: a=b\r\n\r\n"
            let rest = "HTTP/1.1 200 OK\r\n" + final.rawValue
            if inTwo || final == .closing {
                return .stream { writer in
                    if inTwo {
                        try await writer.write(interim)
                        try await writer.write(rest)
                    } else {
                        try await writer.write(interim + rest)
                    }
                    if final == .closing { await writer.close() }
                }
            }
            return .response(interim + rest)
        }
    }

    /// - Parameter target: the target that a connection requests in a round.
    private func expectInterims(
        _ connections: Int,
        _ final: Final,
        inTwo: Bool,
        method: String = "GET",
        target: @escaping @Sendable (_ connection: Int, _ round: Int) -> String
    ) async throws {
        try await RawOrigin.with(respond: Self.respond(final, inTwo: inTwo)) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.onEach(of: connections, port: gateway.port) { client, number in
                    for round in 0..<8 {
                        let target = target(number, round)
                        try await client.send("\(method) \(target) HTTP/1.1\r\nHost: g\r\n\r\n")
                        var links: [String?] = []
                        var response = try await client.response()
                        while response.status == 103 {
                            links.append(response["Link"])
                            response = try await client.response()
                        }
                        try #require(response.status == 200)
                        try #require(response.text == "ok")
                        // Responses from the store have no interim responses.
                        let isHit = response["Cache-Status"]?.contains("hit") == true
                        try #require(links == (isHit ? [] : ["<\(target)>"]), "\(response["Cache-Status"] ?? "")")
                    }
                }
            }
        }
    }

    @Test(arguments: Final.allCases, RawClient.counts)
    func eachClientGetsInterimResponsesWrittenAtOnce(final: Final, connections: Int) async throws {
        try await expectInterims(connections, final, inTwo: false) { "/\($0)/\($1)" }
    }

    @Test(arguments: Final.allCases, RawClient.counts)
    func eachClientGetsInterimResponsesWrittenBeforeTheFinalOne(final: Final, connections: Int) async throws {
        try await expectInterims(connections, final, inTwo: true) { "/\($0)/\($1)" }
    }

    @Test(arguments: Final.allCases, [false, true])
    func allClientsOfSharedFetchGetInterimResponses(final: Final, inTwo: Bool) async throws {
        try await expectInterims(30, final, inTwo: inTwo) { "/\($1)" }
    }

    @Test(arguments: RawClient.counts)
    func clientsGetInterimResponsesIfNothingIsSharedOrStored(connections: Int) async throws {
        try await expectInterims(connections, .unstored, inTwo: false, method: "DELETE") { "/\($0)/\($1)" }
    }

    @Test func sharedFetchSharesHintsButNotCookies() async throws {
        let gates = Gates()
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .stream { writer in
                try await writer.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nSet-Cookie: a=b\r\n\r\n")
                await gates.pass("final")
                try await writer.write("HTTP/1.1 200 OK\r\n" + Final.stored.rawValue)
            }
        }
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { leader in
                    try await leader.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    let hint = try await leader.response()
                    #expect(hint["Link"] == "</a>")
                    #expect(hint["Set-Cookie"] == "a=b")
                    try await RawClient.with(port: gateway.port) { joiner in
                        try await joiner.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                        while gateway.engine.memberCount < 2, !Task.isCancelled { await Task.yield() }
                        gates.open("final")
                        let hint = try await joiner.response()
                        #expect(hint.status == 103)
                        #expect(hint["Link"] == "</a>")
                        #expect(hint["Set-Cookie"] == nil)
                        #expect(try await joiner.response()["Cache-Status"]?.contains("collapsed") == true)
                    }
                    #expect(try await leader.response().status == 200)
                }
                #expect(origin.requests.count == 1)
            }
        }
    }
}
