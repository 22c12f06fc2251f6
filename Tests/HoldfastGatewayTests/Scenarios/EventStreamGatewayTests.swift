import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastGateway
import HoldfastTesting
import Synchronization
import Testing

/// Event streams that rules store, through a gateway and over sockets.
@Suite(.timeLimit(.minutes(20))) struct EventStreamGatewayTests {
    private final class Rules: ExchangeRules {
        private let found: RequestRules

        init() {
            var settings = ExchangeSettings()
            settings.keyedContent = .json
            settings.overrides.lifetime = 60
            settings.principal = .field(.authorization)
            settings.eventStreams = EventStreamRule(ending: "[DONE]")
            found = RequestRules(settings: settings)
        }

        func rules(for request: HTTPRequest) -> RequestRules { found }

        func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] { [] }
    }

    private static let events = ["data: 1\n\n", "event: x\r\ndata: 2\r\n\r\n", "data: [DONE]\n\n"]
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    private static func chunk(_ text: String) -> String { "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n" }

    private static func post(_ key: String) -> String {
        let content = #"{"stream":true}"#
        return "POST /v1 HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nAuthorization: Bearer \(key)\r\n"
            + "Content-Length: \(content.utf8.count)\r\n\r\n\(content)"
    }

    /// The content of a chunked response, as far as it has come; `nil` before its head.
    private static func content(_ received: [UInt8]) -> String? {
        let text = String(decoding: received, as: UTF8.self)
        guard let head = text.firstRange(of: "\r\n\r\n") else { return nil }
        var rest = Array(text[head.upperBound...].utf8)[...]
        var content: [UInt8] = []
        while let end = rest.firstIndex(of: 0x0D), rest.count > end - rest.startIndex + 1 {
            let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16) ?? 0
            rest = rest[(end + 2)...]
            content += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// Mutant: a stream is passed on when it has ended.
    @Test(arguments: RawClient.counts) func clientsShareAStreamAsItComes(_ count: Int) async throws {
        let read = [Gate(), Gate()]
        let arrived = Mutex([0, 0])
        let stream = RawOrigin.Step.stream { writer in
            try await writer.write(Self.head + Self.chunk(Self.events[0]))
            try await read[0].wait()
            try await writer.write(Self.chunk(Self.events[1]))
            try await read[1].wait()
            try await writer.write(Self.chunk(Self.events[2]) + "0\r\n\r\n")
        }
        try await RawOrigin.with([stream]) { origin in
            try await RunningGateway.with(origin: origin.url, rules: Rules()) { gateway in
                try await RawClient.onEach(of: count, port: gateway.port) { client, _ in
                    try await client.send(Self.post("a"))
                    var received: [UInt8] = []
                    // The origin sends an event only after each client has read the one before.
                    for place in 0..<2 {
                        let expected = Self.events[...place].joined()
                        while Self.content(received) != expected, let bytes = await client.read() { received += bytes }
                        let isLast = arrived.withLock { arrived in
                            arrived[place] += 1
                            return arrived[place] == count
                        }
                        if isLast { read[place].open() }
                    }
                    while !received.ends(with: "0\r\n\r\n"), let bytes = await client.read() { received += bytes }
                    #expect(Self.content(received) == Self.events.joined())
                }
                await gateway.waitForFills(upTo: 0)
                #expect(origin.requests.count == 1)
                await origin.stop()
                let replay = try await gateway.send(Self.post("a"))
                #expect(replay.text == Self.events.joined() && replay["Content-Type"] == "text/event-stream")
                #expect(replay["Cache-Status"] == "holdfast; hit; ttl=60")
            }
        }
    }

    /// The origin's connection ends after each byte of the stream. Only the whole stream is stored.
    @Test func streamCutAtEveryByteIsNotStored() async throws {
        let response = Array((Self.head + Self.events.map(Self.chunk).joined() + "0\r\n\r\n").utf8)
        let places = (Self.head.utf8.count..<response.count).map { $0 }
        let cuts = places.map { RawOrigin.Step.respondAndClose(Array(response[..<$0])) }
        try await RawOrigin.with(cuts + [RawOrigin.Step.response(response)]) { origin in
            // In this mode, failures do not count against the origin.
            try await RunningGateway.with(origin: origin.url, mode: .online, rules: Rules()) { gateway in
                for place in places {
                    let cut = try await gateway.send(Self.post("a"))
                    #expect(!cut.isComplete || cut.status != 200, "cut at \(place)")
                    #expect(gateway.store.all.isEmpty, "cut at \(place)")
                }
                let whole = try await gateway.send(Self.post("a"))
                #expect(whole.isComplete && whole.text == Self.events.joined())
                #expect(gateway.store.all.count == 1)
            }
        }
    }
}
