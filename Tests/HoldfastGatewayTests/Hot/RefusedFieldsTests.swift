import Testing

@testable import HoldfastGateway

/// docs/attacks.md, 90: a request that exceeds a limit is refused, also if what fits into the limit
/// is a request whose response is in the hot table.
///
/// Mutant: the bytes of a section that exceeds a limit are looked up.
@Suite(.timeLimit(.minutes(20)))
struct RefusedFieldsTests {
    /// A limit, a request that keeps it, and fields that exceed it behind that.
    struct Limit: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let change: @Sendable (inout MessageLimits) -> Void
        let kept: [(String, String)]
        let excess: [(String, String)]

        static let all = [
            Limit(
                testDescription: "the number of fields",
                change: { $0.fieldCount = 8 },
                kept: (0..<7).map { ("x-\($0)", "1") },
                excess: [("cache-control", "no-store"), ("authorization", "a")]
            ),
            Limit(
                testDescription: "the bytes of all fields",
                change: { $0.fieldBlock = 512 },
                kept: [("x-a", String(repeating: "a", count: 400))],
                excess: [("cookie", String(repeating: "a", count: 200))]
            ),
            Limit(
                testDescription: "the bytes of all fields, by a few bytes",
                change: { $0.fieldBlock = 256 },
                kept: [("x-a", "1")],
                excess: [("x-b", String(repeating: "b", count: 232))]
            ),
        ]
    }

    enum Door: String, CaseIterable { case http1, http2 }

    /// Sends requests one after the other on one connection.
    private func responses(_ door: Door, _ requests: [[(String, String)]], _ gateway: RunningGateway) async throws
        -> [(status: Int, isHit: Bool)]
    {
        try await RawClient.with(port: gateway.port) { raw in
            var responses: [(status: Int, isHit: Bool)] = []
            if door == .http2 {
                let client = FrameClient(raw)
                try await client.send(FrameClient.beginning())
                for (number, fields) in requests.enumerated() {
                    let stream = UInt32(2 * number + 1)
                    try await client.send(FrameClient.get("/a", on: stream, fields: fields))
                    let response = try #require(try await client.responses([stream])[stream])
                    responses.append((response.status, response["cache-status"]?.contains("; hit") == true))
                }
                return responses
            }
            for fields in requests {
                let lines = fields.map { "\($0.0): \($0.1)\r\n" }.joined()
                try await raw.send("GET /a HTTP/1.1\r\n\(lines)\r\n")
                let response = try await raw.response()
                responses.append((response.status, response["Cache-Status"]?.contains("; hit") == true))
            }
            return responses
        }
    }

    @Test(arguments: Limit.all, Door.allCases) func refusesWhatExceedsALimit(_ limit: Limit, _ door: Door) async throws
    {
        // In HTTP/2 the authority is no field of the block, so both have a 'host'.
        let kept = limit.kept + [("host", "a.example")]
        try await RawOrigin.with([.ok("x", fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(origin: origin.url, configure: { limit.change(&$0.messageLimits) }) {
                gateway in
                _ = try await responses(door, [kept], gateway)
                await gateway.waitForFills(upTo: 0)
                for count in 1...limit.excess.count {
                    let before = await gateway.server.hotResponseCount()
                    let warm = Array(repeating: kept, count: 4)
                    let all = try await responses(door, warm + [kept + limit.excess.prefix(count)], gateway)
                    #expect(all.dropLast().allSatisfy { $0.status == 200 && $0.isHit })
                    #expect(await gateway.server.hotResponseCount() > before, "the table has the response")
                    #expect(all.last?.status == 431)
                }
                #expect(origin.requests.count == 1)
            }
        }
    }
}
