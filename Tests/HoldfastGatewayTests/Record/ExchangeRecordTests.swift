import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastMetrics
import HoldfastTesting
import NIOCore
import NIOPosix
import Testing

@testable import HTTPWire
@testable import HoldfastGateway

/// Every exchange has one record, whatever its protocol and its ending: one line of the log, one
/// duration, and the same counters.
@Suite(.timeLimit(.minutes(20))) struct ExchangeRecordTests {
    /// A sequence of requests, and the record of the last one.
    struct Ending: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The method and the target of each request.
        var requests: [String]
        var mode = OfflineMode.automatic
        /// Sent with each request. In HTTP/1, this is the field's line.
        var field: (name: String, value: String)?
        var status = 200
        var result: String?
        var problem: String?
        /// The tiers that served the requests.
        var tiers: [String] = []
    }

    private static let endings = [
        Ending(testDescription: "fetched", requests: ["GET /s"], result: "MISS"),
        Ending(testDescription: "hit", requests: ["GET /s", "GET /s"], result: "HIT", tiers: ["memory"]),
        Ending(
            testDescription: "hot hit",
            requests: ["GET /s", "GET /s", "GET /s", "GET /s"],
            result: "HIT",
            tiers: ["memory", "memory", "hot"]
        ),
        Ending(
            testDescription: "hot hit of a HEAD",
            requests: ["GET /s", "HEAD /s", "HEAD /s", "HEAD /s"],
            result: "HIT",
            tiers: ["memory", "memory", "hot"]
        ),
        Ending(
            testDescription: "hot hit of a 404",
            requests: ["GET /m", "GET /m", "GET /m", "GET /m"],
            status: 404,
            result: "HIT",
            tiers: ["memory", "memory", "hot"]
        ),
        Ending(testDescription: "relayed", requests: ["GET /n"], result: "MISS"),
        Ending(
            testDescription: "refused by the cache",
            requests: ["GET /s"],
            mode: .offline,
            status: 504,
            problem: "offline-miss"
        ),
        Ending(
            testDescription: "refused by the gateway",
            requests: ["PURGE /s"],
            status: 405,
            problem: "method-not-allowed"
        ),
        Ending(
            testDescription: "not a valid request",
            requests: ["GET /s"],
            field: ("host", "b.example"),
            status: 400,
            problem: "host"
        ),
    ]

    @Test(arguments: endings)
    func everyEndingHasOneRecord(_ ending: Ending) async throws {
        try await RawOrigin.with(respond: Self.respond) { origin in
            var records: [Records] = []
            for version in Version.allCases {
                records.append(
                    try await self.recorded(of: origin.url, mode: ending.mode, over: version) { client, gateway in
                        for request in ending.requests {
                            try await client.request(request, field: ending.field)
                            await gateway.waitForFills(upTo: 0)
                        }
                    }
                )
            }
            for record in records {
                let count = ending.requests.count
                #expect(record.lines.count == count && record.count("http_server_request_duration_seconds") == count)
                let last = try #require(record.lines.last)
                #expect(last["http.response.status_code"] == "\(ending.status)")
                #expect(last["cache.result"] == ending.result && last["error.type"] == ending.problem)
                for tier in Set(ending.tiers) {
                    let hits = record.count("holdfast_hits_total", "tier=\(tier)")
                    #expect(hits == ending.tiers.count { $0 == tier }, "\(tier)")
                }
                #expect(record.count("holdfast_hits_total") == ending.tiers.count)
                #expect(record.count("holdfast_refusals_total") == (ending.problem == nil ? 0 : 1))
            }
            // Where a request is not valid, each protocol has its own words, of another length.
            guard ending.problem != "host" else { return }
            #expect(records[0].lines == records[1].lines)
            #expect(records[0].counts == records[1].counts)
        }
    }

    @Test func anAbortedResponseHasOneRecord() async throws {
        try await RawOrigin.with(respond: Self.respond) { origin in
            var records: [Records] = []
            for version in Version.allCases {
                records.append(
                    try await self.recorded(of: origin.url, over: version) { client, gateway in
                        try await client.begin("GET /long")
                        try await client.readPart("01234")
                        await client.reset()
                        while await Scrape(gateway).count("holdfast_client_aborts_total") == 0, !Task.isCancelled {
                            await Task.yield()
                        }
                    }
                )
            }
            for record in records {
                let line = try #require(record.lines.first)
                #expect(record.lines.count == 1 && record.count("http_server_request_duration_seconds") == 1)
                #expect(line["error.type"] == "client-aborted" && line["http.response.body.size"] == "5")
                #expect(record.count("http_server_request_duration_seconds", "error_type=client-aborted") == 1)
            }
            #expect(records[0].lines == records[1].lines)
            #expect(records[0].counts == records[1].counts)
        }
    }

    /// A body on disk is verified piece by piece, after its head was sent.
    ///
    /// Mutant: `damaged-content-is-only-incomplete`.
    @Test func aResponseThatTheStoreCutsShortNamesTheStore() async throws {
        let body = String(repeating: "0123456789", count: 30_000)
        try await RawOrigin.with(respond: { _ in .ok(body, fields: "Cache-Control: max-age=60\r\n") }) { origin in
            let lines = try await LoggedLine.logged(.notable) { log in
                var faulty: FaultyResponseStore?
                try await RunningGateway.with(
                    origin: origin.url,
                    hasResidentBodies: false,
                    wrapping: { store in
                        let wrapped = FaultyResponseStore(store)
                        faulty = wrapped
                        return wrapped
                    },
                    accessLog: log
                ) { gateway in
                    let first = try await gateway.get("/a")
                    #expect(first.status == 200)
                    faulty?.breakBodies(after: 200_000)
                    try await RawClient.with(port: gateway.port) { client in
                        try await client.send("GET /a HTTP/1.1\r\nHost: g\r\n\r\n")
                        let bytes = await client.readToEnd()
                        let text = String(decoding: bytes, as: UTF8.self)
                        #expect(text.lowercased().contains("content-length: 300000") && bytes.count < 300_000)
                    }
                    let key = "http_server_request_duration_seconds"
                    #expect(await Scrape(gateway).count(key, ["error_type": "store-failed"]) == 1)
                }
            }
            let line = try #require(lines.first)
            #expect(lines.count == 1 && line["error.type"] == "store-failed" && line.flag("aborted") == true)
            #expect(line["cache.result"] == "HIT" && line.number("http.response.status_code") == 200)
        }
    }

    /// The methods and the statuses of the two protocols differ, and nothing else.
    @Test func aTunnelHasOneRecord() async throws {
        try await SwitchingOrigin.with { origin in
            for version in Version.allCases {
                let records = try await recorded(of: origin.url, over: version, configure: UpgradeTests.passing()) {
                    client,
                    gateway in
                    try await client.tunnel("abc")
                    while await Scrape(gateway).count("holdfast_tunnels_total") == 0, !Task.isCancelled {
                        await Task.yield()
                    }
                }
                let line = try #require(records.lines.first)
                #expect(records.lines.count == 1 && records.count("http_server_request_duration_seconds") == 1)
                #expect(records.count("holdfast_tunnels_total", "result=closed") == 1)
                #expect(records.count("holdfast_tunnels_total") == 1)
                #expect(line["http.request.body.size"] == "3" && line["http.response.body.size"] == "3")
                #expect(line["error.type"] == nil && line["aborted"] == nil)
            }
        }
    }

    /// Mutant: a refused connection counts as a request.
    @Test(arguments: RawClient.counts) func aRefusedConnectionIsNoRequest(clients: Int) async throws {
        try await RawOrigin.with(respond: Self.respond) { origin in
            var scrape: Scrape?
            let lines = try await LoggedLine.all(of: origin.url, configure: { $0.maximumConnections = 1 }) { gateway in
                try await RawClient.with(port: gateway.port) { first in
                    try await first.send("GET /s HTTP/1.1\r\nHost: g\r\n\r\n")
                    _ = try await first.response()
                    try await RawClient.onEach(of: clients, port: gateway.port) { client, _ in
                        let response = try await client.response()
                        #expect(response.status == 503)
                    }
                }
                scrape = await Scrape(gateway)
            }
            let numbers = try #require(scrape)
            #expect(numbers.count("holdfast_refusals_total", ["problem": "too-many-connections"]) == clients)
            #expect(numbers.count("http_server_request_duration_seconds") == 1)
            #expect(numbers.count("holdfast_exchanges_total") == 1)
            #expect(numbers.count("holdfast_sent_bytes_total") == "stored".utf8.count)
            #expect(lines.count == 1 + clients)
        }
    }

    /// A line of a hot hit is made from its own record; a line of another hit from the exchange's.
    ///
    /// Mutant: the record of a hot hit has the age of the kept response.
    @Test(arguments: Version.allCases) func aHotHitIsLoggedLikeAnyHit(over version: Version) async throws {
        try await RawOrigin.with(respond: Self.respond) { origin in
            let records = try await recorded(of: origin.url, over: version) { client, gateway in
                func get(after seconds: Int) async throws {
                    gateway.clock.advance(by: .seconds(seconds))
                    try await client.request("GET /s?a=1")
                    await gateway.waitForFills(upTo: 0)
                }
                for seconds in [0, 5, 0, 0, 2, 0] { try await get(after: seconds) }
                #expect(await gateway.server.hotResponseCount() == 3)
            }
            try #require(records.lines.count == 6)
            // The response is kept with the third request.
            #expect(records.lines[3] == records.lines[2])
            #expect(records.lines[2]["cache.age"] == "5" && records.lines[2]["cache.ttl"] == "55")
            for line in records.lines[4...] {
                #expect(line["cache.age"] == "7" && line["cache.ttl"] == "53")
                #expect(line["cache.status"] == "holdfast; hit; ttl=53")
                let names = Set(line.keys).union(records.lines[2].keys)
                let differing = names.filter { line[$0] != records.lines[2][$0] }
                #expect(differing.sorted() == ["cache.age", "cache.status", "cache.ttl"])
            }
        }
    }

    /// A request that begins in an hour is fast, however busy the machine is.
    ///
    /// Mutant: a slow hit of the hot table is not notable.
    @Test(arguments: [(200, -3600, false), (200, 2, true), (404, 2, true)])
    func hotHitsAreNotableLikeOthers(status: Int, seconds: Int64, isNotable: Bool) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let lines = try await LoggedLine.logged(.notable) { log in
            let part = log.add(eventLoop, RouteLabels()) { _ in nil }
            try await eventLoop.submit {
                let telemetry = LoopTelemetry(RequestSeries())
                telemetry.log = part.value
                var facts = ExchangeFacts(CacheOutcome(isHit: true, timeToLive: 60))
                facts.ending = .hit
                let head = GatewayResponseHead(
                    response: HTTPResponse(status: HTTPResponse.Status(code: status)),
                    facts: facts,
                    via: "1.1 g",
                    cacheStatus: "holdfast; hit; ttl=60"
                )
                let request = GatewayRequest(
                    method: .get,
                    target: "/a",
                    authority: RequestedHost("g"),
                    fields: [:],
                    receivedProtocol: .http11,
                    content: .none
                )
                let bytes = ByteBuffer(string: "GET /a HTTP/1.1\r\nHost: g\r\n\r\n")
                let hit = RecordedHit(bytes, request, head, sentBytes: 3, of: RouteLabels.none)
                telemetry.record(
                    hit,
                    since: NIODeadline.now() - .seconds(seconds),  // lets time pass
                    of: GatewayClient(address: "192.0.2.1"),
                    at: ExchangeRecord.Ordinal(connection: 1, request: 1)
                )
            }.get()
        }
        #expect(lines.count == (isNotable ? 1 : 0))
        #expect(lines.allSatisfy { $0["url.path"] == "/a" && $0["client.address"] == "192.0.2.1" })
    }

    @Test func everyMetricOfRoutesHasItsOwnCells() {
        var starts: [Int] = []
        for section in RouteCounters.Section.allCases {
            for value in RouteCounters.rows[section.rawValue].labels.indices {
                starts.append(RouteCounters.cell(section, value))
            }
        }
        #expect(starts == Array(0..<RouteCounters.width))
        let names = RouteCounters.rows.map(\.description.name)
        #expect(Set(names).count == RouteCounters.Section.allCases.count)
    }

    // MARK: One gateway

    enum Version: CaseIterable { case http1, http2 }

    /// The lines and the counters of a gateway, apart from times, addresses and the protocol.
    private struct Records {
        var lines: [[String: String]]
        var counts: [String: Int] = [:]

        /// The sum of all series of a metric that have a label.
        func count(_ name: String, _ label: String = "") -> Int {
            counts.reduce(0) { sum, series in
                let labels = series.key.split(separator: " ").map { String($0) }
                return labels[0] == name && (label.isEmpty || labels.contains(label)) ? sum + series.value : sum
            }
        }
    }

    private static let ownMembers: Set = [
        "time", "connection.id", "connection.requests", "duration", "duration.first_byte", "origin.duration",
        "network.protocol.version",
    ]
    private static let ownMetrics: Set = [
        "holdfast_loop_lag_seconds", "holdfast_client_connections", "holdfast_in_flight_fetches",
        "holdfast_in_flight_fetch_waiters", "holdfast_tunnels",
    ]

    private func recorded(
        of origin: String,
        mode: OfflineMode = .automatic,
        over version: Version,
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (Client, RunningGateway) async throws -> Void
    ) async throws -> Records {
        var counts: [String: Int] = [:]
        let lines = try await LoggedLine.all(of: origin, mode: mode, configure: configure) { gateway in
            try await RawClient.with(port: gateway.port) { raw in
                let client = Client(raw, version)
                try await client.begin()
                try await body(client, gateway)
            }
            for family in await gateway.server.metrics.families() {
                let name = family.description.name
                guard !Self.ownMetrics.contains(name) else { continue }
                for series in family.series {
                    let labels = series.labels.all.filter { $0.name != "network_protocol_version" }
                    let key = ([name] + labels.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
                    switch series.value {
                    case .integer(let count): counts[key, default: 0] += Int(count)
                    case .number(let value): counts[key, default: 0] += Int(value)
                    case .histogram(let buckets, _): counts[key, default: 0] += Int(buckets.reduce(0, +))
                    }
                }
            }
        }
        let kept = lines.map { line in
            Dictionary(uniqueKeysWithValues: line.members.keys.map { ($0, line[$0] ?? "") })
                .filter { !Self.ownMembers.contains($0.key) }
        }
        return Records(lines: kept, counts: counts.filter { $0.value != 0 })
    }

    private static let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
        switch request.target.prefix(2) {
        case "/n": .ok("not stored", fields: "Cache-Control: no-store\r\n")
        case "/l": .response("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 10\r\n\r\n01234")
        case "/m": .response("HTTP/1.1 404 Not Found\r\nCache-Control: max-age=60\r\nContent-Length: 4\r\n\r\nnone")
        default: .ok("stored", fields: "Cache-Control: max-age=60\r\n")
        }
    }

    /// A client of either protocol, with one request at a time.
    private final class Client {
        private let raw: RawClient
        /// `nil` in HTTP/1.
        private let frames: FrameClient?
        private var stream: UInt32 = 1

        init(_ raw: RawClient, _ version: Version) {
            self.raw = raw
            frames = version == .http2 ? FrameClient(raw) : nil
        }

        func begin() async throws { try await frames?.send(FrameClient.beginning()) }

        /// Sends a request without content.
        func begin(_ request: String, field: (name: String, value: String)? = nil) async throws {
            let parts = request.split(separator: " ").map { String($0) }
            guard let frames else {
                let line = field.map { "\($0.name): \($0.value)\r\n" } ?? ""
                return try await raw.send("\(parts[0]) \(parts[1]) HTTP/1.1\r\nHost: a.example\r\n\(line)\r\n")
            }
            let fields = field.map { [($0.name, $0.value)] } ?? []
            try await frames.send(
                FrameClient.request(parts[0], parts[1], on: stream, fields: fields, endsStream: true)
            )
        }

        /// Sends a request, and reads its response.
        func request(_ request: String, field: (name: String, value: String)? = nil) async throws {
            try await begin(request, field: field)
            guard let frames else {
                _ = try await raw.response(isHead: request.hasPrefix("HEAD"))
                return
            }
            let response = try await frames.responses([stream])[stream]
            #expect(response?.status ?? 0 > 0)
            stream += 2
        }

        /// Reads until a part of a response's content has come.
        func readPart(_ part: String) async throws {
            var content = ""
            while !content.hasSuffix(part) {
                if let frames {
                    let frame = try #require(await frames.frame { $0.type == FrameClient.Frame.data })
                    content += String(decoding: frame.payload, as: UTF8.self)
                } else {
                    content += String(decoding: try #require(await raw.read()), as: UTF8.self)
                }
            }
        }

        func reset() async { await raw.reset() }

        /// Opens a tunnel to an origin that sends everything back, sends a text, and closes the
        /// tunnel.
        func tunnel(_ text: String) async throws {
            guard let frames else {
                try await raw.send(UpgradeTests.handshake + text)
                try await readPart(text)
                try await raw.closeOutput()
                _ = await raw.readToEnd()
                return
            }
            let fields = [(":protocol", "websocket"), ("sec-websocket-version", "13")]
            try await frames.send(
                FrameClient.request("CONNECT", "/chat", on: stream, fields: fields, endsStream: false),
                FrameClient.Frame(type: FrameClient.Frame.data, stream: stream, payload: Array(text.utf8))
            )
            try await readPart(text)
            try await frames.send(FrameClient.Frame(type: FrameClient.Frame.data, flags: 1, stream: stream))
            _ = await frames.frame { $0.type == FrameClient.Frame.data && $0.endsStream }
        }
    }
}
