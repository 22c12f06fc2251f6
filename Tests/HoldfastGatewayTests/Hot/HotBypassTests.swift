import Foundation
import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import NIOCore
import Testing

@testable import HoldfastGateway

/// Why requests do not take the fast path: each case is repeated, and never served from the hot
/// table. docs/architecture.md
@Suite(.timeLimit(.minutes(20)))
struct HotBypassTests {
    struct Case: Sendable, CustomTestStringConvertible {
        /// `nil` if the table serves the request.
        var reason: HotBypass?
        var request = EitherClient.Request()
        /// Fields of the origin's response.
        var fields = "Cache-Control: max-age=60\r\n"
        var configure: @Sendable (inout GatewayConfiguration) -> Void = { _ in }

        var testDescription: String { reason?.rawValue ?? "none" }
    }

    static let cases = [
        Case(reason: nil),
        Case(reason: .notAsked, request: .init(content: "{}")),
        Case(reason: .notLasting, request: .init(fields: [("Cache-Control", "max-age=30")])),
        Case(reason: .isForOneClient, configure: { $0.identifiesRequests = true }),
        Case(reason: .hidesDetails, configure: { $0.hidesCacheStatusDetails = true }),
        Case(reason: .variesByClient, fields: "Cache-Control: max-age=60\r\nVary: X-Forwarded-Proto\r\n"),
    ]

    private static let rounds = 6

    @Test(arguments: cases) func keepsNoResponseWithReasonOverBothProtocols(_ row: Case) async throws {
        try await RawOrigin.with(respond: { _ in .ok("a", fields: row.fields) }) { origin in
            try await RunningGateway.with(origin: origin.url, configure: row.configure) { gateway in
                var served = 0
                for kind in EitherClient.Kind.allCases {
                    try await EitherClient.with(kind, port: gateway.port) { client in
                        for _ in 0..<Self.rounds {
                            let answer = try await client.ask(row.request)
                            #expect(answer.status == 200)
                            await gateway.waitForFills(upTo: 0)
                        }
                    }
                    let count = await gateway.server.hotResponseCount()
                    #expect((count > served) == (row.reason == nil), "\(kind)")
                    served = count
                }
                #expect(origin.requests.count == 1, "the other responses come from the store")
            }
        }
    }

    @Test(arguments: [
        ("HTTP/1.1", "", true), ("HTTP/1.0", "Connection: keep-alive\r\n", false),
        ("HTTP/1.1", "Connection: close\r\n", false),
    ])
    func keepsResponsesOnlyOfPersistentHTTP11Connections(version: String, field: String, isServed: Bool) async throws {
        let request = "GET /a \(version)\r\nHost: g\r\n\(field)\r\n"
        try await RawOrigin.with(respond: { _ in .ok("a", fields: "Cache-Control: max-age=60\r\n") }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                // Several connections, so that each event loop has some.
                for _ in 0..<16 {
                    try await RawClient.with(port: gateway.port) { client in
                        for _ in 0..<(field.contains("close") ? 1 : 4) {
                            try await client.send(request)
                            #expect(try await client.response().status == 200)
                            await gateway.waitForFills(upTo: 0)
                        }
                    }
                }
                let count = await gateway.server.hotResponseCount()
                #expect((count > 0) == isServed)
            }
        }
    }

    @Test func pageListsTheReasonsInTheirOrder() throws {
        let path = #filePath.replacing(
            "Tests/HoldfastGatewayTests/Hot/HotBypassTests.swift",
            with: "docs/architecture.md"
        )
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let listed = text.split(separator: "\n").filter { $0.hasPrefix("| not kept: `") }.compactMap { line in
            line.split(separator: "`").dropFirst().first.map { String($0) }
        }
        #expect(listed == HotBypass.allCases.map(\.rawValue))
    }
}
