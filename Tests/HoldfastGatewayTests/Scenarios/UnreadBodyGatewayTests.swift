import HTTPCache
import HoldfastTesting
import Testing

@testable import HoldfastGateway

/// Responses that are being stored when their last reader goes.
@Suite(.timeLimit(.minutes(20))) struct UnreadBodyGatewayTests {
    /// A response that does not end before the test does.
    private static func endless(_ fields: String, _ end: Gate) -> RawOrigin.Step {
        .stream { writer in
            try await writer.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\(fields)\r\n5\r\nhello\r\n")
            try await end.wait()
        }
    }

    private static let framings = ["Transfer-Encoding: chunked\r\n", "Content-Length: 100000\r\n"]

    /// Clients that have each read the beginning of a response, and go.
    private func leave(_ count: Int, _ gateway: RunningGateway, _ target: String) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await RawClient.with(port: gateway.port) { client in
                        try await client.send("GET \(target) HTTP/1.1\r\nHost: g\r\n\r\n")
                        _ = await client.read()
                        await client.reset()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(arguments: framings) func unreadBodiesEndAfterASecond(_ framing: String) async throws {
        let (sleeper, end) = (ManualDurationClock(), Gate())
        defer { end.open() }
        try await RawOrigin.with([Self.endless(framing, end), .ok("fresh")]) { origin in
            try await RunningGateway.with(origin: origin.url, sleeper: sleeper) { gateway in
                try await leave(30, gateway, "/")
                await sleeper.sleepers(atLeast: 1)
                #expect(gateway.engine.inFlightFetchCount == 1)
                sleeper.advance(by: .seconds(1))
                await origin.connectionCloses()
                while gateway.engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
                let next = try await gateway.get("/")
                #expect(next.text == "fresh" && origin.requests.count == 2)
            }
        }
    }

    @Test(arguments: framings) func unreadBodiesGivePlacesToWaitingRequests(_ framing: String) async throws {
        var options = EngineOptions.patient
        options.inFlightLimit = 8
        let end = Gate()
        defer { end.open() }
        let steps = Array(repeating: Self.endless(framing, end), count: 8) + Array(repeating: .ok("fine"), count: 30)
        try await RawOrigin.with(steps) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                options: options,
                sleeper: ManualDurationClock()
            ) { gateway in
                for number in 0..<8 { try await leave(1, gateway, "/held/\(number)") }
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<30 { group.addTask { try await gateway.get("/wanted/\(number)").status } }
                    for try await status in group { #expect(status == 200) }
                }
            }
        }
    }

    @Test func streamsEndWithTheirLastClient() async throws {
        let fields = "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n"
        let end = Gate()
        defer { end.open() }
        try await RawOrigin.with([Self.endless(fields, end)]) { origin in
            try await RunningGateway.with(origin: origin.url, sleeper: ManualDurationClock()) { gateway in
                try await leave(1, gateway, "/")
                await origin.connectionCloses()
                while gateway.engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            }
        }
    }
}
