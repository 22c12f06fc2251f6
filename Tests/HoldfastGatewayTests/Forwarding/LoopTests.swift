import HTTPCache
import HoldfastGateway
import Testing

/// A request that comes back to the gateway that forwarded it. RFC 9110 §7.6.3
@Suite(.timeLimit(.minutes(20)))
struct LoopTests {
    @Test(arguments: ["GET", "POST"], RawClient.counts)
    func firstGatewayRejectsRequestThatComesBack(method: String, connections: Int) async throws {
        // An origin that sends everything back to its sender, through one more gateway.
        try await RunningGateway.with(origin: "http://127.0.0.1:1") { first in
            try await RunningGateway.with(origin: "http://127.0.0.1:\(first.port)") { second in
                let routes = GatewayRoutes(origin: try GatewayOrigin("http://127.0.0.1:\(second.port)"))
                first.transport.reconfigure(routes: routes)
                first.server.reconfigure(GatewayConfiguration(routes: routes, port: 0))
                try await RawClient.onEach(of: connections, port: first.port) { client, number in
                    try await client.send("\(method) /\(number) HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\n\r\n")
                    let response = try await client.response()
                    try #require(response.status == 508)
                    try #require(response.text.contains("urn:holdfast:problem:loop"))
                }
            }
        }
    }

    @Test func gatewaysWithTheSamePseudonymCanBeChained() async throws {
        try await RawOrigin.with([.ok("a"), .ok("b")]) { origin in
            try await RunningGateway.with(origin: origin.url) { inner in
                try await RunningGateway.with(origin: "http://127.0.0.1:\(inner.port)") { outer in
                    #expect(try await outer.get("/").text == "a")
                    let vias = try #require(origin.requests.first?.values("Via"))
                    #expect(vias.count == 2)
                    // Similar names, and this gateway's name in a comment, belong to others.
                    let own = vias.last?.split(separator: " ").last.map { String($0) } ?? ""
                    let other = try await inner.get("/b", fields: "Via: 1.1 x\(own), 1.1 x (\(own)), 1.1 holdfast\r\n")
                    #expect(other.text == "b")
                    let back = try await inner.get("/c", fields: "Via: 1.0 fred\r\nVia: 1.1 p,HTTP/1.1\t\(own) (x)\r\n")
                    #expect(back.status == 508)
                }
            }
        }
    }
}
