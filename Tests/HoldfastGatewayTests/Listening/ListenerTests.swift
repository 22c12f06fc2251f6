import NIOCore
import Testing

@testable import HoldfastGateway

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Listeners, one on each loop.
@Suite(.timeLimit(.minutes(20)))
struct ListenerTests {
    /// Mutant: `GatewayServer.listen` without `reserve`: the system would distribute the
    /// connections over both.
    @Test func rejectsPortOnWhichAnotherGatewayListens() async throws {
        try await RawOrigin.with([]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let port = gateway.port
                var refusal: (any Error)?
                do {
                    try await RunningGateway.with(origin: origin.url, configure: { $0.port = port }) { _ in }
                } catch {
                    refusal = error
                }
                #expect(refusal is IOError)
            }
        }
    }

    /// The preface is a request of HTTP/1 with the version 2.0 there. RFC 9110 §15.6.6
    @Test func listenerWithoutHTTP2RefusesThePrefaceAndServesHTTP1() async throws {
        try await RawOrigin.with(respond: { _ in .ok("a", fields: "Cache-Control: max-age=60\r\n") }) { origin in
            let configure: (inout GatewayConfiguration) -> Void = {
                $0.listeners = [.address(ListenAddress(host: "127.0.0.1", port: 0), http2: false)]
                // The address changes, and the protocols stay.
                $0.port = 0
            }
            try await RunningGateway.with(origin: origin.url, configure: configure) { gateway in
                for _ in 1...3 {
                    #expect(try await gateway.get("/").text == "a")
                    try await RawClient.with(port: gateway.port) { client in
                        try await client.send(FrameClient.beginning() + FrameClient.get("/", on: 1).bytes)
                        let response = try await client.response()
                        #expect(response.status == 505)
                        #expect(response["Connection"] == "close")
                        #expect(await client.read() == nil)
                    }
                }
                #expect(origin.requests.count == 1)
            }
        }
    }

    @Test func portCanBeListenedOnAgainAtOnce() async throws {
        try await RawOrigin.with([.ok("a"), .ok("b")]) { origin in
            let port = try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await gateway.get("/a")
                #expect(response.text == "a")
                return gateway.port
            }
            try await RunningGateway.with(origin: origin.url, configure: { $0.port = port }) { gateway in
                #expect(gateway.port == port)
                let response = try await gateway.get("/b")
                #expect(response.text == "b")
            }
        }
    }

    /// An address from which no client connects. A client that connects again and again to a free
    /// port may eventually connect to itself.
    private static let address: String = {
        #if os(Linux)
            "127.0.0.2"
        #else
            "127.0.0.1"
        #endif
    }()

    @Test func startingGatewayServesOrRefusesClientsAndResetsNone() async throws {
        let address = Self.address
        try await RawOrigin.with(respond: { _ in .ok("a") }) { origin in
            var port = try await RunningGateway.with(origin: origin.url, configure: { $0.host = address }) { $0.port }
            for _ in 0..<10 {
                do {
                    try await expectNoResets(address, port, origin: origin.url)
                } catch let error as IOError where error.errnoCode == EADDRINUSE {
                    // Between two gateways the system may give the port to another program.
                    port = try await RunningGateway.with(origin: origin.url, configure: { $0.host = address }) {
                        $0.port
                    }
                    try await expectNoResets(address, port, origin: origin.url)
                }
            }
        }
    }

    /// Starts a gateway while eight clients try to connect to it.
    private func expectNoResets(_ address: String, _ port: Int, origin: String) async throws {
        try await withThrowingTaskGroup(of: Int.self) { clients in
            for _ in 0..<8 { clients.addTask { try await Self.resetsUntilServed(address, port) } }
            try await RunningGateway.with(origin: origin, configure: { ($0.host, $0.port) = (address, port) }) { _ in
                for try await resets in clients { #expect(resets == 0) }
            }
        }
    }

    /// Connects until there is a response, and counts connections that were accepted and ended
    /// without one.
    private static func resetsUntilServed(_ host: String, _ port: Int) async throws -> Int {
        var resets = 0
        while !Task.isCancelled {
            do {
                return try await RawClient.with(host: host, port: port) { client in
                    do {
                        try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                        if try await client.response().text == "a" { return resets }
                    } catch {
                        resets += 1
                    }
                    throw CancellationError()
                }
            } catch {
                await Task.yield()
            }
        }
        return resets
    }

    @Test func acceptsEveryConnectionOnWhicheverLoop() async throws {
        try await RawOrigin.with([.ok("kept", fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/kept")
                for _ in 0..<32 {
                    let response = try await gateway.get("/kept")
                    #expect(response.text == "kept")
                }
                #expect(origin.requests.count == 1)
            }
        }
    }
}
