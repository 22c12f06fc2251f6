import HTTPCache
import Testing

@testable import HoldfastGateway

/// Parts of pages that are rewritten, while the memory for responses is used up: each is the whole,
/// and waits without holding what another one waits for.
extension RewritingGatewayTests {
    private static let ranges = ["bytes=0-4", "bytes=-5", "bytes=70000-140000", "bytes=0-4, 6-7"]

    /// A gateway that reads stored pages in chunks, with so many permits for them.
    private func with(
        permits: Int,
        page: @escaping @Sendable (_ base: String) -> String,
        _ body: @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        var options = EngineOptions.patient
        options.responseMemory = permits * ContentPermits.permitLength
        try await RewritingGateway.with(
            {
                let page = page("http://\($0.values("host").first ?? "")")
                return .response(RewritingGateway.response(page, fields: RewritingGateway.fresh))
            },
            options: options,
            hasResidentBodies: false,
            wrapping: { ChunkedStore($0) }
        ) { gateway, origin in
            #expect(try await gateway.ask(host: "first.example").text == page("http://first.example/o"))
            try await body(gateway)
            #expect(origin.requests.count == 1)
            let permits = gateway.engine.contentPermits
            await until { permits.count == 0 && permits.waitingCount == 0 }
        }
    }

    private func until(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    /// Mutant: `part-of-a-page-waits-with-its-permit`.
    @Test func thirtyPartsShareOnePermit() async throws {
        let page: @Sendable (String) -> String = { RewritingGateway.page($0, repeating: 2_500) }
        try await with(permits: 1, page: page) { gateway in
            let port = gateway.port
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<30 {
                    let (host, range) = ("host\(number).example", Self.ranges[number % 4])
                    group.addTask {
                        try await RawClient.with(port: port) { client in
                            let expected = page("http://\(host)/o")
                            if number % 3 == 0 {
                                let frames = FrameClient(client)
                                try await frames.send(FrameClient.beginning())
                                let fields = [("range", range)]
                                try await frames.send(
                                    FrameClient.get("/o/page", on: 1, authority: host, fields: fields)
                                )
                                let response = try #require(try await frames.responses([1])[1])
                                try #require(response.status == 200 && response.text == expected, "\(range)")
                            } else {
                                let fields = "Host: \(host)\r\nRange: \(range)\r\n\r\n"
                                try await client.send("GET /o/page HTTP/1.1\r\n" + fields)
                                let response = try await client.response()
                                try #require(response.status == 200 && response.text == expected, "\(range)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// The longest page that is rewritten. Twelve streams that read nothing have all permits that
    /// one client gets.
    @Test func partsOfTheLongestPageWaitForStalledOnes() async throws {
        let length = Int(ResponseRewriting.contentLimit)
        let page: @Sendable (String) -> String = { base in
            let start = RewritingGateway.page(base)
            let line = String(repeating: "-", count: 1023) + "\n"
            let text = start + String(repeating: line, count: length / 1024 - 2) + start
            return text + String(repeating: " ", count: 1024)
        }
        try await with(permits: 16, page: page) { gateway in
            let (port, permits) = (gateway.port, gateway.engine.contentPermits)
            try await RawClient.with(port: port) { raw in
                let stalled = FrameClient(raw)
                // SETTINGS_INITIAL_WINDOW_SIZE. RFC 9113 §6.5.2
                try await stalled.send(FrameClient.beginning([(4, 0)]))
                for stream in 0..<12 {
                    let fields = [("range", Self.ranges[stream % 4])]
                    try await stalled.send(FrameClient.get("/o/page", on: UInt32(stream * 2 + 1), fields: fields))
                }
                for _ in 0..<12 { _ = await stalled.frame { $0.type == FrameClient.Frame.headers } }
                await until { permits.count == 12 }
                try await withThrowingTaskGroup(of: RawResponse.self) { group in
                    for range in Self.ranges[2...] {
                        group.addTask {
                            let fields = "Host: late.example\r\nRange: \(range)\r\n\r\n"
                            return try await RawClient.send("GET /o/page HTTP/1.1\r\n" + fields, to: port)
                        }
                    }
                    await until { permits.waitingCount == 2 }
                    for stream in 0..<12 { try await stalled.send(FrameClient.reset(UInt32(stream * 2 + 1))) }
                    for try await response in group {
                        #expect(response.status == 200 && response.isComplete)
                        #expect(response.text == page("http://late.example/o"))
                    }
                }
            }
        }
    }
}
