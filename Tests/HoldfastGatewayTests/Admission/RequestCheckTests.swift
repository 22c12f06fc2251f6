import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway

/// Checks of requests before the hot table, over sockets.
@Suite(.timeLimit(.minutes(20))) struct RequestCheckTests {
    private static let stored: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
        .ok("x\(request.values("x").joined())", fields: "Cache-Control: max-age=60\r\n")
    }

    private func with(
        _ check: RecordedCheck,
        trusted: [String] = [],
        respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step = Self.stored,
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: {
                    $0.trustedClients = trusted.compactMap { AddressRange($0) }
                    configure(&$0)
                }
            ) { gateway in
                gateway.server.admission.requestChecks = [check]
                try await body(gateway)
            }
        }
    }

    private static let loopback = ClientAddress(text: "127.0.0.1")

    @Test(arguments: EitherClient.Kind.allCases)
    func checksEachRequestOnceWhateverServesIt(_ kind: EitherClient.Kind) async throws {
        let check = RecordedCheck { _ in false }
        try await with(check) { gateway in
            try await EitherClient.with(kind, port: gateway.port) { client in
                for number in 1...6 {
                    #expect(try await client.ask(.init()).status == 200)
                    await gateway.waitForFills(upTo: 0)
                    #expect(check.clients.count == number)
                }
                for request in [
                    EitherClient.Request(method: "PURGE"), .init(method: "POST", content: "abc"),
                    .init(target: "/../b"),
                ] { _ = try await client.ask(request) }
            }
            #expect(check.clients == Array(repeating: Self.loopback, count: 9))
            #expect(await gateway.server.hotResponseCount() > 0)
        }
    }

    @Test func checksEachStreamAndPipelinedRequestOfThirtyConnections() async throws {
        let check = RecordedCheck { _ in false }
        try await with(check) { gateway in
            try await RawClient.onEach(of: 30, port: gateway.port) { client, number in
                if number.isMultiple(of: 2) {
                    let head = "GET /a HTTP/1.1\r\nHost: g\r\n\r\n"
                    try await client.send(String(repeating: head, count: 20))
                    for _ in 0..<20 { #expect(try await client.response().status == 200) }
                } else {
                    let streams = (0..<20).map { UInt32(2 * $0 + 1) }
                    let frames = FrameClient(client)
                    try await frames.send(FrameClient.beginning())
                    for stream in streams { try await frames.send(FrameClient.get("/a", on: stream)) }
                    let statuses = try await frames.responses(Set(streams)).values.map(\.status)
                    #expect(statuses == Array(repeating: 200, count: 20))
                }
            }
            #expect(check.clients.count == 30 * 20)
        }
    }

    @Test func checksRequestInTwoPiecesOnce() async throws {
        let request = Array("GET /a HTTP/1.1\r\nHost: g\r\n\r\n".utf8)
        let check = RecordedCheck { _ in false }
        try await with(check) { gateway in
            try await RawClient.with(port: gateway.port) { client in
                for cut in request.indices {
                    try await client.send(Array(request[..<cut]))
                    try await client.send(Array(request[cut...]))
                    #expect(try await client.response().status == 200)
                    #expect(check.clients.count == cut + 1)
                }
            }
        }
    }

    /// The preface looks like a request of HTTP/1 without its end.
    @Test func neverChecksThePrefaceOfHTTP2HoweverItArrives() async throws {
        let check = RecordedCheck { _ in false }
        try await with(check) { gateway in
            for cut in FrameClient.preface.indices {
                try await RawClient.with(port: gateway.port) { raw in
                    let client = FrameClient(raw)
                    let bytes = FrameClient.beginning() + FrameClient.get("/a", on: 1).bytes
                    try await client.send(Array(bytes[..<cut]))
                    try await client.send(Array(bytes[cut...]))
                    #expect(try await client.responses([1])[1]?.status == 200)
                    #expect(check.clients.count == cut + 1)
                }
            }
        }
    }

    /// Mutant: `check-of-a-request-is-skipped`.
    @Test(arguments: EitherClient.Kind.allCases)
    func rejectsClientAlthoughHotTableHasItsResponse(_ kind: EitherClient.Kind) async throws {
        let check = RecordedCheck { $0 > 6 && $0.isMultiple(of: 2) }
        try await with(check) { gateway in
            try await EitherClient.with(kind, port: gateway.port) { client in
                for number in 1...12 {
                    let answer = try await client.ask(.init())
                    await gateway.waitForFills(upTo: 0)
                    #expect(answer.status == (number > 6 && number.isMultiple(of: 2) ? 429 : 200), "\(number)")
                    if answer.status == 429 { #expect(answer.text.contains("urn:holdfast:problem:checked")) }
                }
            }
            #expect(await gateway.server.hotResponseCount() > 0)
        }
    }

    @Test(arguments: EitherClient.Kind.allCases)
    func neverReadsContentOfRejectedRequestAsRequest(_ kind: EitherClient.Kind) async throws {
        let check = RecordedCheck { !$0.isMultiple(of: 2) }
        try await with(check) { gateway in
            try await EitherClient.with(kind, port: gateway.port) { client in
                for _ in 0..<3 {
                    let content = "GET /b HTTP/1.1\r\nHost: g\r\n\r\n"
                    let rejected = try await client.ask(.init(method: "POST", content: content))
                    let served = try await client.ask(.init())
                    #expect(rejected.status == 429 && served.status == 200)
                }
            }
            #expect(check.clients.count == 6)
        }
    }

    /// Mutant: `fields-of-a-rejected-request-are-known`.
    @Test(arguments: [[], ["127.0.0.1"]])
    func fieldsOfRejectedRequestNeverReplaceThoseOfEarlierOne(trusted: [String]) async throws {
        let check = RecordedCheck { $0 == 2 }
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = {
            .ok($0.values("x").joined(), fields: "Cache-Control: no-store\r\n")
        }
        try await with(check, trusted: trusted, respond: respond) { gateway in
            try await EitherClient.with(.http1, port: gateway.port) { client in
                let first = try await client.ask(.init(fields: [("X", "1")]))
                let rejected = try await client.ask(.init(target: "/b", fields: [("X", "2")]))
                let last = try await client.ask(.init(target: "/c", fields: [("X", "2")]))
                #expect(first.text == "1" && rejected.status == 429 && last.text == "2")
            }
        }
    }

    // MARK: Forwarded addresses

    @Test(arguments: EitherClient.Kind.allCases)
    func checksGetOnlyTheClientThatTrustedPeerNames(_ kind: EitherClient.Kind) async throws {
        let forwarded = "203.0.113.9, 192.0.2.1"
        for (trusted, expected) in [([], "127.0.0.1"), (["127.0.0.1"], "192.0.2.1")] {
            let check = RecordedCheck { _ in false }
            try await with(check, trusted: trusted) { gateway in
                try await EitherClient.with(kind, port: gateway.port) { client in
                    for _ in 0..<4 {
                        let request = EitherClient.Request(fields: [("X-Forwarded-For", forwarded)])
                        let answer = try await client.ask(request)
                        #expect(answer.status == 200)
                        await gateway.waitForFills(upTo: 0)
                    }
                    let unnamed = try await client.ask(.init())
                    #expect(unnamed.status == 200)
                }
                let addresses = check.clients.map(\.text)
                #expect(addresses == Array(repeating: expected, count: 4) + ["127.0.0.1"])
            }
        }
    }

    @Test(arguments: EitherClient.Kind.allCases)
    func rejectsOneClientOfTrustedPeerAndNotItsOthers(_ kind: EitherClient.Kind) async throws {
        let check = RecordedCheck { $0.isMultiple(of: 2) }
        try await with(check, trusted: ["127.0.0.1"]) { gateway in
            try await EitherClient.with(kind, port: gateway.port) { client in
                for number in 1...8 {
                    let name = "192.0.2.\(number % 2)"
                    let answer = try await client.ask(.init(fields: [("X-Forwarded-For", name)]))
                    #expect(answer.status == (number.isMultiple(of: 2) ? 429 : 200))
                    #expect(check.clients.last?.text == name)
                    await gateway.waitForFills(upTo: 0)
                }
            }
        }
    }

    @Test(arguments: EitherClient.Kind.allCases)
    func checksGetTheClientOfTheProxyProtocol(_ kind: EitherClient.Kind) async throws {
        let proxy = "PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n"
        for (line, expected) in [
            (proxy, ClientAddress(text: "192.0.2.7")),
            ("PROXY UNKNOWN\r\n", ClientAddress(text: "127.0.0.1", isOwn: false)),
        ] {
            let check = RecordedCheck { _ in false }
            try await with(
                check,
                trusted: ["127.0.0.1"],
                configure: {
                    $0.listeners = [.address(ListenAddress(host: "127.0.0.1", port: 0), proxyProtocol: true)]
                }
            ) { gateway in
                try await EitherClient.with(kind, port: gateway.port, preamble: line) { client in
                    // Neither may name another client.
                    let request = EitherClient.Request(fields: [("X-Forwarded-For", "203.0.113.9")])
                    let answer = try await client.ask(request)
                    #expect(answer.status == 200)
                }
                #expect(check.clients == [expected])
            }
        }
    }
}
