import HTTPCache
import HoldfastConfiguration
import HoldfastMetrics
import NIOCore
import Testing

@testable import HoldfastGateway

/// Upgrades over HTTP/1.1.
@Suite(.timeLimit(.minutes(20)))
struct UpgradeTests {
    /// Mutant: WebSockets go to mirrors.
    @Test(arguments: [true, false]) func goesToSecondAddressOfOriginAndToNoMirror(_ isAddress: Bool) async throws {
        try await SwitchingOrigin.with { other in
            let dead = "http://127.0.0.1:1"
            try await RunningGateway.with(
                origin: dead,
                configure: Self.passing(),
                configureTransport: {
                    var origin = Configuration.Origin(url: dead)
                    let authority = other.url.dropFirst("http://".count)
                    if isAddress {
                        origin.addresses = ["127.0.0.1:1", String(authority)]
                    } else {
                        origin.mirrors = [other.url]
                    }
                    $0.origins = [origin]
                }
            ) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(Self.handshake)
                    let (head, _) = await head(from: client)
                    #expect(head.hasPrefix(isAddress ? "HTTP/1.1 101 " : "HTTP/1.1 504 "), "\(head)")
                }
                #expect(other.heads.count == (isAddress ? 1 : 0))
            }
        }
    }

    @Test func originThatSwitchesIsJoinedOnItsOwnConnection() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { SwitchingOrigin.switching(to: $0, fields: "Sec-WebSocket-Protocol: chat\r\n") }
        try await with(manner) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake)
                let (head, rest) = await head(from: client)
                #expect(rest.isEmpty)
                let start = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                #expect(head.hasPrefix(start))
                #expect(head.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
                #expect(head.contains("\r\nSec-WebSocket-Protocol: chat\r\n"))
                #expect(head.contains("\r\nVia: 1.1 holdfast\r\n"))
                for text in ["one", "GET / HTTP/1.1\r\n\r\n", "two"] {
                    try await client.send(text)
                    #expect(await self.text(text.utf8.count, from: client) == text)
                }
                #expect(gateway.server.tunnelCount == 1)
            }
            let sent = try #require(origin.heads.first)
            #expect(sent.hasPrefix("GET /chat HTTP/1.1\r\n"))
            #expect(sent.contains("\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"))
            #expect(sent.contains("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))
            #expect(sent.contains("\r\nX-Forwarded-For: 127.0.0.1\r\n"))
            #expect(!sent.contains("X-Hop"))
            #expect(origin.heads.count == 1)
            await origin.connectionsClose()
            await noTunnel(gateway)
        }
    }

    @Test func cutsOfClientBytesDoNotMatter() async throws {
        try await with { origin, gateway in
            let bytes = Array((Self.handshake + "early").utf8)
            for cut in 1..<bytes.count {
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(Array(bytes[..<cut]))
                    // A request on another connection passes before the rest is sent.
                    if cut % 16 == 0 { _ = try await RawClient.send("GET /x HTTP/1.1\r\n\r\n", to: gateway.port) }
                    try await client.send(Array(bytes[cut...]))
                    let (head, rest) = await head(from: client)
                    #expect(head.hasPrefix("HTTP/1.1 101 "), "\(cut)")
                    #expect(rest + (await read(5 - rest.count, from: client)) == Array("early".utf8), "\(cut)")
                }
            }
        }
    }

    @Test func cutsOfOriginBytesDoNotMatter() async throws {
        let whole = SwitchingOrigin.switching(to: Self.handshake) + "first"
        try await RawOrigin.with(respond: { request in
            let cut = request.target.split(separator: "/").last.flatMap { Int($0) } ?? 0
            return .stream { origin in
                try await origin.write(Array(whole.utf8.prefix(cut)))
                await Task.yield()
                try await origin.write(Array(whole.utf8.dropFirst(cut)))
            }
        }) { origin in
            try await RunningGateway.with(origin: origin.url, configure: Self.passing()) { gateway in
                for cut in 0...whole.utf8.count {
                    try await RawClient.with(port: gateway.port) { client in
                        try await client.send("GET /\(cut)" + Self.handshake.dropFirst(9))
                        let (head, rest) = await head(from: client)
                        #expect(head.hasPrefix("HTTP/1.1 101 "), "\(cut)")
                        #expect(rest + (await read(5 - rest.count, from: client)) == Array("first".utf8), "\(cut)")
                    }
                }
            }
        }
    }

    @Test func earlyBytesReachNoOriginWithoutSwitchAndAreNoRequest() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno" }
        try await with(manner) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake + "GET /smuggled HTTP/1.1\r\nHost: g\r\n\r\n")
                let response = try await client.response()
                #expect(response.status == 403)
                #expect(response["Connection"] == "close")
                // The connection may be closed before.
                try? await client.send("GET /second HTTP/1.1\r\nHost: g\r\n\r\n")
                #expect(await client.readToEnd().isEmpty)
            }
            #expect(origin.heads.count == 1)
            #expect(origin.bytes.isEmpty)
            await noTunnel(gateway)
        }
    }

    @Test(arguments: [200, 401, 426]) func anyOtherResponsePassesAndIsNotStored(status: Int) async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 \(status) X\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok" }
        try await with(manner) { origin, gateway in
            for _ in 0..<2 {
                let response = try await gateway.send(Self.handshake)
                #expect(response.status == status)
                #expect(response.text == "ok")
                #expect(response["Cache-Status"]?.contains("fwd=bypass") == true)
            }
            #expect(origin.heads.count == 2)
            // Each had a connection of its own.
            #expect(origin.acceptedCount == 2)
            await noTunnel(gateway)
        }
    }

    /// RFC 9110 §15.5.22
    @Test(arguments: [true, false]) func status426NamesTheProtocolsThatTheOriginWants(isUpgrade: Bool) async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in
            "HTTP/1.1 426 X\r\nUpgrade: websocket, TLS/1.3\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\nok"
        }
        try await with(manner) { _, gateway in
            let request = isUpgrade ? Self.handshake : "GET /chat HTTP/1.1\r\nHost: g\r\n\r\n"
            let response = try await gateway.send(request)
            #expect(response.status == 426 && response.text == "ok")
            #expect(response["Upgrade"] == "websocket, TLS/1.3")
            #expect(response["Connection"]?.contains("upgrade") == true)
        }
    }

    /// A 426 is about the request's connection, so it is not stored: clients that come at once, or
    /// after it, get the origin's own fields.
    @Test func storable426NamesItsProtocolsToEachClient() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in
            "HTTP/1.1 426 X\r\nUpgrade: TLS/1.3\r\nConnection: upgrade\r\nCache-Control: public, max-age=60\r\n"
                + "Content-Length: 2\r\n\r\nok"
        }
        try await with(manner) { _, gateway in
            for _ in 0..<2 {
                try await withThrowingTaskGroup(of: RawResponse.self) { group in
                    for _ in 0..<30 { group.addTask { try await gateway.get("/chat") } }
                    for try await response in group {
                        #expect(response.status == 426 && response["Upgrade"] == "TLS/1.3")
                        #expect(response["Cache-Status"]?.contains("; hit") == false)
                    }
                }
            }
        }
    }

    @Test func urlsInFieldsOfSwitchLeadToTheGateway() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = {
            SwitchingOrigin.switching(
                to: $0,
                fields: "Set-Cookie: a=1; Domain=127.0.0.1; Path=/chat\r\nLocation: /x\r\n"
            )
        }
        try await SwitchingOrigin.with(manner) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { configuration in
                    guard var route = try? GatewayRoute(path: "/o", origin: GatewayOrigin(origin.url)) else { return }
                    route.upgrades = ["websocket"]
                    route.rewriting.location = true
                    if let routes = try? GatewayRoutes([route]) { configuration.routes = routes }
                }
            ) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(
                        Self.handshake.replacing("/chat", with: "/o/chat").replacing(
                            "Host: g",
                            with: "Host: gw.example"
                        )
                    )
                    let head = await head(from: client).head
                    #expect(head.hasPrefix("HTTP/1.1 101 "))
                    #expect(head.contains("\r\nSet-Cookie: a=1; Path=/o/chat\r\n"), "\(head)")
                    #expect(head.contains("\r\nLocation: /o/x\r\n"), "\(head)")
                }
            }
        }
    }

    @Test(arguments: [
        "Upgrade: h2c\r\nConnection: Upgrade\r\n", "Connection: Upgrade\r\n", "Upgrade: websocket\r\n",
        "Upgrade: websocket, h2c\r\nConnection: Upgrade\r\n", "",
    ])
    func switchToAnotherProtocolIsAnError(fields: String) async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 101 Switching Protocols\r\n\(fields)\r\n" }
        try await with(manner) { origin, gateway in
            let response = try await gateway.send(Self.handshake)
            #expect(response.status == 502)
            await origin.connectionsClose()
        }
    }

    @Test func switchThatNoRequestAskedForIsAnError() async throws {
        try await with(configure: RunningGateway.trustingClients) { origin, gateway in
            let response = try await gateway.get("/")
            #expect(response.status == 502)
            #expect(response.text.contains("switched protocols"))
            await origin.connectionsClose()
        }
    }

    @Test func refusesWebSocketOnRouteThatPassesNoneAndForwardsNothing() async throws {
        try await with(protocols: []) { origin, gateway in
            let response = try await gateway.send(Self.handshake)
            #expect(response.status == 501)
            #expect(response.text.contains("\"urn:holdfast:problem:upgrade-not-allowed\""))
            #expect(response["Connection"] == "close")
            #expect(origin.acceptedCount == 0)
        }
    }

    /// RFC 9110 §7.8 allows it.
    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: g\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\na",
    ])
    func ignoresOtherOffers(request: String) async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" }
        try await with(manner) { origin, gateway in
            let response = try await gateway.send(request)
            #expect(response.status == 200)
            #expect(origin.heads.allSatisfy { !$0.lowercased().contains("upgrade") })
            #expect(origin.heads.count == 1)
        }
    }

    @Test func asksForTheFirstProtocolThatTheRoutePasses() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 101 X\r\nUpgrade: foo/2\r\nConnection: upgrade\r\n\r\n" }
        try await with(manner, protocols: ["websocket", "foo/2"]) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(
                    "GET / HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: h2c, Foo/2, websocket\r\n\r\n"
                )
                let (head, _) = await head(from: client)
                #expect(head.contains("\r\nUpgrade: foo/2\r\n"))
                try await client.send("a")
                #expect(await text(1, from: client) == "a")
            }
            #expect(origin.heads.first?.contains("\r\nUpgrade: foo/2\r\n") == true)
        }
    }

    @Test func clientGets504OfflineAndNoOriginIsAsked() async throws {
        try await with(mode: .offline) { origin, gateway in
            let response = try await gateway.send(Self.handshake)
            #expect(response.status == 504)
            #expect(response.text.contains("offline"))
            #expect(origin.acceptedCount == 0)
            await noTunnel(gateway)
        }
    }

    @Test func unreachableOriginIsAProblemLikeAnyOther() async throws {
        try await RunningGateway.with(origin: "http://127.0.0.1:1", configure: Self.passing()) { gateway in
            let response = try await gateway.send(Self.handshake)
            #expect(response.status == 504)
            await noTunnel(gateway)
        }
    }
}
