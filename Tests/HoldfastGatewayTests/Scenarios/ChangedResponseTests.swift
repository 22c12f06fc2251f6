import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HoldfastGateway

/// Responses that a client's request changed or deleted, over sockets, while the origin is
/// unreachable. RFC 9111 §4.4, docs/attacks.md, 61
///
/// Mutants: `unsafe-invalidation-is-a-purge`, `delete-only-marks`.
@Suite(.timeLimit(.minutes(20))) struct ChangedResponseTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: g\r\n\r\n"
    private static let clients = 30

    private func ask(_ client: RawClient, _ request: String) async throws -> RawResponse {
        try await client.send(request)
        return try await client.response()
    }

    /// Many clients have the response in their hot table, and one changes it. From then on the
    /// origin closes connections.
    @Test(arguments: ["PUT", "POST", "PATCH", "DELETE"], [true, false])
    func doesNotServeChangedResponseAsFreshOffline(method: String, isResident: Bool) async throws {
        for isLifted in [false, true] {
            var settings = ExchangeSettings()
            settings.overrides.directivesIgnoredWhenStale = [.invalidated]
            let rules = isLifted ? FixedRules(settings) : nil
            var steps: [RawOrigin.Step] = [
                .ok("old", fields: "Cache-Control: max-age=3600, stale-if-error=3600\r\n"),
                .response("HTTP/1.1 204 No Content\r\n\r\n"),
            ]
            steps += Array(repeating: .hangUp, count: 400)
            let seen = try await RawOrigin.with(steps) { origin in
                try await RunningGateway.with(
                    origin: origin.url,
                    hasResidentBodies: isResident,
                    rules: rules,
                    wrapping: { store -> any ResponseStore in isResident ? store : DiskStore(store) }
                ) { gateway in
                    try await RawClient.with(port: gateway.port) { client in
                        #expect(try await ask(client, Self.get).text == "old")
                        // Repeated until it is stored, and then until the loop serves it from its
                        // table.
                        while gateway.store.all.isEmpty, !Task.isCancelled { await Task.yield() }
                        for _ in 0..<4 { #expect(try await ask(client, Self.get).text == "old") }
                        _ = try await ask(client, "\(method) /a HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\n\r\n")
                    }
                    return try await withThrowingTaskGroup(of: [RawResponse].self) { group in
                        for _ in 0..<Self.clients {
                            group.addTask {
                                try await RawClient.with(port: gateway.port) { client in
                                    var responses: [RawResponse] = []
                                    for _ in 0..<3 { responses.append(try await ask(client, Self.get)) }
                                    return responses
                                }
                            }
                        }
                        return try await group.reduce(into: []) { $0 += $1 }
                    }
                }
            }
            #expect(seen.count == 3 * Self.clients)
            for response in seen {
                let status = response["Cache-Status"] ?? ""
                if isLifted, method != "DELETE" {
                    #expect(response.text == "old" && status == "holdfast; hit; ttl=0; detail=invalidated")
                } else {
                    #expect([502, 504].contains(response.status) && response.text != "old", "\(status)")
                }
            }
        }
    }
}
