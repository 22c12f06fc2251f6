import NIOCore
import Testing

@testable import HoldfastGateway

/// A channel may read, or close, before a flush returns: NIO does so when a write fails. The
/// connection must not take the next request, or give up one, in the middle of a response then.
@Suite(.timeLimit(.minutes(20)))
struct FlushTests {
    /// As long as a response of the hot table may be: the system does not take many of them.
    private static let content = String(repeating: "0123456789abcdef", count: 1 << 16)
    private static let cacheable = "Cache-Control: max-age=60\r\n"

    /// How the responses come about.
    enum Way: String, CaseIterable {
        /// From memory, and then from the hot table.
        case hits
        case misses

        var fields: String { self == .hits ? FlushTests.cacheable : "Cache-Control: no-store\r\n" }
    }

    @Test(arguments: Way.allCases) func flushThatReadsRequestsKeepsResponsesInOrder(_ way: Way) async throws {
        try await serve(way, .read) { client, count in
            for number in 0..<count {
                let response = try await client.response()
                #expect(response.status == 200)
                #expect(response.text == "/\(number % 4)" + Self.content)
            }
            // Those that the flushes have read follow, however many there were.
            try await client.send("GET /last HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
            var texts: [String] = []
            while texts.last != "/last" + Self.content { texts.append(try await client.response().text) }
            #expect(!texts.dropLast().isEmpty)
            #expect(texts.dropLast().allSatisfy { $0 == "/read" + Self.content })
            #expect(await client.read() == nil)
        }
    }

    @Test(arguments: Way.allCases) func flushThatClosesLeavesNothingBehind(_ way: Way) async throws {
        try await serve(way, .close) { client, _ in
            _ = await client.readToEnd()
        }
    }

    private static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: g\r\n\r\n" }

    /// Runs pipelined requests on a connection whose flushes do more.
    private func serve(
        _ way: Way,
        _ deed: FlushHandler.Deed,
        check: (RawClient, Int) async throws -> Void
    ) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            .ok(request.target + Self.content, fields: way.fields)
        }
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let paths = (0..<4).map { "/\($0)" }
                let (count, gates) = (16, Gates())
                // The system buffers less than all responses for a client that does not read.
                try await RawClient.with(port: gateway.port, receiveBuffer: 64 << 10) { client in
                    // More than once, so that the hot table of the connection's loop has them.
                    for path in paths + paths + paths {
                        try await client.send(Self.get(path))
                        #expect(try await client.response().status == 200)
                        await gateway.waitForFills(upTo: 0)
                    }
                    let hotCount = await gateway.server.hotResponseCount()
                    let channel = try #require(gateway.server.connections.channels.first)
                    try await channel.eventLoop.submit {
                        let handler = FlushHandler(deed, reading: Array(Self.get("/read").utf8)) { gates.open("deed") }
                        try channel.pipeline.syncOperations.addHandler(handler, position: .first)
                    }.get()
                    try await client.send((0..<count).map { Self.get(paths[$0 % 4]) }.joined())
                    await gates.pass("deed")
                    try await check(client, count)
                    if way == .hits { #expect(await gateway.server.hotResponseCount() > hotCount) }
                }
                // The connection is gone, and so is all that it held.
                while !gateway.server.connections.channels.isEmpty, !Task.isCancelled { await Task.yield() }
                #expect(try await gateway.get("/0").text == "/0" + Self.content)
            }
        }
    }
}
