import HTTPCache
import HoldfastTesting
import Synchronization
import Testing

/// Interim responses reach every client on every way that a final response can go, wherever the
/// origin's bytes are cut. RFC 9110 §15.2
@Suite(.timeLimit(.minutes(20)))
struct InterimWayTests {
    /// How the final response reaches the client.
    enum Way: String, CaseIterable {
        case stored, unstored, chunked, streamed, head, unsafe
        /// A stale response is stored: the origin confirms it, replaces it, or fails.
        case validated, replaced, standIn
        case error, malformed
        /// All clients send the same request at once.
        case collapsed, collapsedUnstored, collapsedValidated, collapsedError

        var hasStale: Bool { [.validated, .replaced, .standIn, .collapsedValidated].contains(self) }
        var isShared: Bool { rawValue.hasPrefix("collapsed") }
        var method: String { self == .head ? "HEAD" : self == .unsafe ? "POST" : "GET" }

        var status: Int {
            switch self {
            case .error, .collapsedError: 503
            case .malformed: 502
            default: 200
            }
        }

        var content: String {
            switch self {
            case .streamed: String(repeating: "ok", count: 100_000)
            case .validated, .standIn, .collapsedValidated: "old"
            default: "ok"
            }
        }

        /// The final response, as the origin sends it.
        var final: String {
            let ok = "HTTP/1.1 200 OK\r\n"
            let stored = ok + "Cache-Control: max-age=60\r\n"
            return switch self {
            case .stored, .replaced, .unsafe, .collapsed: stored + "Content-Length: 2\r\n\r\nok"
            case .head: stored + "Content-Length: 2\r\n\r\n"
            case .unstored, .collapsedUnstored: ok + "Cache-Control: no-store\r\nContent-Length: 2\r\n\r\nok"
            case .chunked: stored + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
            case .streamed: stored + "Content-Length: \(content.utf8.count)\r\n\r\n\(content)"
            case .validated, .collapsedValidated: "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"
            case .standIn, .error, .collapsedError: "HTTP/1.1 503 Away\r\nContent-Length: 2\r\n\r\nok"
            case .malformed: ok + "X : y\r\n\r\n"
            }
        }
    }

    /// Mutants: an interim response that is lost in front of a final one, or on one of the ways.
    @Test(arguments: Way.allCases) func thirtyClientsGetInterimResponsesOnEachWay(way: Way) async throws {
        let exchanges = InterimExchanges(way)
        try await RawOrigin.with(respond: { exchanges.respond(to: $0) }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in try await exchanges.run(gateway) }
        }
    }
}

/// The exchanges of thirty clients on one way, with a cut of the origin's bytes in every place.
private final class InterimExchanges: Sendable {
    private static let clientCount = 30

    private let way: InterimWayTests.Way
    /// For each target a gate that opens when a client has its interim response.
    private let gates = Gates()
    private let finishedCount = Counter()
    private let hasFailed = Atomic(false)
    private let gateway = Mutex<RunningGateway?>(nil)
    /// Shared targets that the origin has seen.
    private let seen = Mutex<Set<String>>([])

    init(_ way: InterimWayTests.Way) { self.way = way }

    private static func interim(_ target: String) -> String {
        "HTTP/1.1 103 Early Hints\r\nLink: <\(target)>\r\nSet-Cookie: a=b\r\n\r\n"
    }

    /// The places of cuts, from the first byte to the end. Content is not cut.
    private var cutCount: Int {
        let head = way.final.firstRange(of: "\r\n\r\n").map { way.final[..<$0.upperBound] } ?? ""
        return Self.interim("/99/999").utf8.count + head.utf8.count + 1
    }

    private var roundCount: Int {
        way.isShared ? cutCount : (cutCount + Self.clientCount - 1) / Self.clientCount
    }

    /// The target of a client in a round. Its last part is the place of the cut.
    private func target(_ client: Int, _ round: Int) -> String {
        way.isShared ? "/all/\(round)" : "/\(client)/\(client + round * Self.clientCount)"
    }

    func run(_ gateway: RunningGateway) async throws {
        self.gateway.withLock { $0 = gateway }
        let (way, roundCount) = (way, roundCount)
        if way.hasStale {
            try await RawClient.onEach(of: way.isShared ? 1 : Self.clientCount, port: gateway.port) { client, number in
                for round in 0..<roundCount {
                    try await client.send("GET \(self.target(number, round)) HTTP/1.1\r\nHost: g\r\n\r\n")
                    try #require(try await client.response().text == "old")
                }
            }
            while gateway.engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            gateway.clock.advance(by: .seconds(61))
        }
        let content = way == .unsafe ? "Content-Length: 5\r\n\r\nhello" : "\r\n"
        try await RawClient.onEach(of: Self.clientCount, port: gateway.port) { client, number in
            for round in 0..<roundCount {
                let target = self.target(number, round)
                try await client.send("\(way.method) \(target) HTTP/1.1\r\nHost: g\r\n\(content)")
                do {
                    try await self.expectInterim(target, client)
                    self.finishedCount.add(1)
                } catch {
                    self.hasFailed.store(true, ordering: .relaxed)
                    throw error
                }
            }
        }
    }

    private func expectInterim(_ target: String, _ client: RawClient) async throws {
        var links: [String?] = []
        var response = try await client.response(isHead: way == .head)
        while response.status == 103 {
            links.append(response["Link"])
            gates.open(target)
            response = try await client.response(isHead: way == .head)
        }
        try #require(response.status == way.status, "\(target)")
        try #require(links == ["<\(target)>"], "\(target), \(response["Cache-Status"] ?? "")")
        if way != .malformed, way != .head { try #require(response.text == way.content, "\(target)") }
    }

    func respond(to request: RawOrigin.Request) -> RawOrigin.Step {
        if way.hasStale, request.values("If-None-Match").isEmpty {
            return .ok("old", fields: "Cache-Control: max-age=60, stale-if-error=3600\r\nETag: \"1\"\r\n")
        }
        let target = request.target
        let interim = Self.interim(target)
        let bytes = Array((interim + way.final).utf8)
        let place = min(target.split(separator: "/").last.flatMap { Int($0) } ?? 0, bytes.count)
        let isFirst = seen.withLock { $0.insert(target).inserted }
        return .stream { [self] writer in
            if way.isShared, isFirst { await waitForAll(round: place) }
            try await writer.write(Array(bytes[..<place]))
            // A client shows that the gateway has read the interim response by itself.
            if place >= interim.utf8.count { await gates.pass(target) }
            try await writer.write(Array(bytes[place...]))
        }
    }

    /// Waits until all clients wait for the same response.
    private func waitForAll(round: Int) async {
        guard let gateway = gateway.withLock({ $0 }) else { return }
        while finishedCount.value < round * Self.clientCount || gateway.engine.memberCount < Self.clientCount {
            // The clients that failed do not come again.
            if hasFailed.load(ordering: .relaxed) { return }
            await Task.yield()
        }
    }
}
