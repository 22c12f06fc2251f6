import HTTPCache
import HoldfastGateway
import HoldfastTesting
import Testing

/// Every response from the store states its age, for every kind of request. RFC 9111 §5.1
@Suite(.timeLimit(.minutes(20)))
struct AgeTests {
    private static let modified = "Sun, 01 Mar 2020 12:00:00 GMT"
    private static let fields =
        "Cache-Control: max-age=60\r\nETag: \"1\"\r\nLast-Modified: \(modified)\r\nContent-Type: text/plain\r\n"

    /// The request's method and fields, and the status of the response.
    private static let table: [(method: String, fields: String, status: Int)] = [
        ("GET", "", 200), ("HEAD", "", 200), ("GET", "Cache-Control: only-if-cached\r\n", 200),
        ("GET", "If-None-Match: \"1\"\r\n", 304), ("HEAD", "If-None-Match: W/\"1\"\r\n", 304),
        ("GET", "If-Modified-Since: \(modified)\r\n", 304), ("GET", "If-None-Match: \"2\"\r\n", 200),
        ("GET", "Range: bytes=0-1\r\n", 206), ("GET", "Range: bytes=-1\r\n", 206),
        ("GET", "Range: bytes=0-1, 5-6\r\n", 206), ("GET", "Range: bytes=10-\r\n", 416),
        ("GET", "Range: bytes=-0\r\n", 416), ("GET", "Range: bytes=x\r\n", 200),
        ("GET", "Range: bytes=0-1\r\nIf-Range: \"1\"\r\n", 206),
        ("GET", "Range: bytes=0-1\r\nIf-Range: \"2\"\r\n", 200), ("HEAD", "Range: bytes=0-1\r\n", 200),
        ("GET", "Range: bytes=\((0..<40).map { "\($0)-\($0)" }.joined(separator: ","))\r\n", 206),
    ]

    private func ask(_ client: RawClient, _ method: String, _ fields: String) async throws -> RawResponse {
        try await client.send("\(method) /a HTTP/1.1\r\nHost: g\r\n\(fields)\r\n")
        return try await client.response(isHead: method == "HEAD")
    }

    /// Each is sent several times, so that the hot table serves it too if it can.
    @Test(arguments: [true, false])
    func everyResponseFromTheStoreStatesItsAge(hasResidentBodies: Bool) async throws {
        try await RawOrigin.with([.ok("0123456789", fields: Self.fields)]) { origin in
            try await RunningGateway.with(origin: origin.url, hasResidentBodies: hasResidentBodies) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    _ = try await ask(client, "GET", "")
                    while gateway.store.all.isEmpty, !Task.isCancelled { await Task.yield() }
                    for (seconds, isStale) in [(7, false), (70, true)] {
                        gateway.clock.advance(by: .seconds(seconds - (isStale ? 7 : 0)))
                        gateway.engine.mode = isStale ? .offline : .automatic
                        for (method, fields, status) in Self.table {
                            for _ in 0..<4 {
                                let response = try await ask(client, method, fields)
                                #expect(response.status == status, "\(method) \(fields)")
                                #expect(response["Age"] == "\(seconds)", "\(method) \(fields)")
                            }
                        }
                    }
                    #expect(origin.requests.count == 1)
                }
            }
        }
    }
}
