import Foundation
import HTTPCache
import HoldfastTesting
import OfflineStore
import TestSupport
import Testing

@testable import HTTPWire
@testable import HoldfastGateway

/// Each number that a client states, by HTTP/1.1, HTTP/2 and the PROXY protocol. A trap ends the
/// tests. docs/attacks.md, 75
@Suite(.timeLimit(.minutes(20)))
struct ClientNumberTests {
    private static func withGateway(
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let store = try await CacheManager.open(at: folder.store)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .ok("0123456789", fields: "Cache-Control: max-age=60\r\nETag: \"a\"\r\n")
        }
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                wrapping: { _ in store.responses },
                configure: configure
            ) { gateway in
                try await body(gateway, origin)
            }
        }
        try await store.close()
    }

    /// Sends bytes, and returns the status; `nil` without a response.
    ///
    /// - Parameter ends: whether the request breaks off behind the bytes.
    private static func status(_ text: String, ends: Bool = false, _ gateway: RunningGateway) async throws -> Int? {
        try await RawClient.with(port: gateway.port) { client in
            try await client.send(text)
            // The gateway may have closed the connection by then.
            if ends { try? await client.closeOutput() }
            return try? await client.response().status
        }
    }

    @Test func contentOfAnyLengthIsForwardedOrRefused() async throws {
        try await Self.withGateway { gateway, _ in
            for number in StatedNumbers.all {
                let content = number == "0" ? "" : "x"
                let head = "POST /a HTTP/1.1\r\nHost: g\r\nConnection: close\r\n"
                let status = try await Self.status("\(head)Content-Length: \(number)\r\n\r\n\(content)", gateway)
                let isSmall = number == "0" || number == "1"
                #expect(status == (isSmall ? 200 : StatedNumbers.fits(number) ? 413 : 400), "\(number)")
            }
            for size in StatedNumbers.hexadecimal {
                let content = size == "0" ? "\r\n" : size == "1" ? "x\r\n0\r\n\r\n" : "x"
                let head = "POST /a HTTP/1.1\r\nHost: g\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                let status = try await Self.status("\(head)\(size)\r\n\(content)", ends: size.count > 1, gateway)
                // Content that breaks off has no response.
                #expect(size.count > 1 ? status ?? 400 == 400 : status == 200, "\(size)")
            }
        }
    }

    /// On a hit, and on a miss.
    @Test func rangesOfAnyNumberAreServed() async throws {
        try await Self.withGateway { gateway, _ in
            for number in StatedNumbers.all {
                let forms = [
                    "\(number)-", "-\(number)", "0-\(number)", "\(number)-\(number)", "0-1,\(number)-,-\(number)",
                ]
                for (index, range) in forms.enumerated() {
                    for target in ["/hit", "/\(number)/\(index)"] {
                        for _ in 0..<2 {
                            let response = try await gateway.get(target, fields: "Range: bytes=\(range)\r\n")
                            #expect([200, 206, 416].contains(response.status), "\(range)")
                            #expect(response.isComplete, "\(range)")
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: [
        "Max-Forwards: N", "Cache-Control: max-age=N, max-stale=N, min-fresh=N, stale-if-error=N",
        "Keep-Alive: timeout=N",
        "Forwarded: for=\"192.0.2.1:N\"", "X-Forwarded-Port: N", "If-Range: \"N\"", "Prefer: wait=N", "Priority: u=N",
        "Upgrade-Insecure-Requests: N", "X-Forwarded-For: 192.0.2.1:N",
    ])
    func fieldsOfAnyNumberAreTaken(_ field: String) async throws {
        try await Self.withGateway(configure: { $0.trustedClients = [] }) { gateway, _ in
            for number in StatedNumbers.all {
                let line = field.replacingOccurrences(of: "N", with: number)
                let answer = try await gateway.get("/a", fields: line + "\r\n")
                #expect(answer.status == 200, "\(line)")
                let options = "OPTIONS /a HTTP/1.1\r\nHost: g\r\n\(line)\r\n\r\n"
                let allowed = try await gateway.send(options)
                #expect(allowed.status < 500, "\(line)")
            }
        }
    }

    @Test(arguments: [false, true])
    func portsOfAnyNumberAreRoutedOrRefused(preservesHost: Bool) async throws {
        try await Self.withGateway(
            configure: { configuration in
                configuration.routes = GatewayRoutes(
                    origin: configuration.routes.routes[0].origin,
                    preservesHost: preservesHost
                )
            }
        ) { gateway, _ in
            for number in StatedNumbers.all {
                let isPort = UInt16(number) != nil
                for target in ["/a", "http://a.example:\(number)/a"] {
                    let head = "GET \(target) HTTP/1.1\r\nHost: a.example:\(number)\r\nConnection: close\r\n\r\n"
                    let status = try await Self.status(head, gateway)
                    #expect(isPort ? [200, 400, 421].contains(status) : status == 400, "\(number)")
                }
                let version = "GET /a HTTP/\(number) \r\nHost: g\r\n\r\n"
                #expect(try await Self.status(version, ends: true, gateway) ?? 400 >= 400)
            }
        }
    }

    // MARK: HTTP/2

    @Test func contentOfAnyLengthOverHTTP2() async throws {
        try await Self.withGateway { gateway, _ in
            for number in StatedNumbers.all {
                try await RawClient.with(port: gateway.port) { raw in
                    let client = FrameClient(raw)
                    try await client.send(FrameClient.beginning())
                    let fields = [("content-length", number)]
                    let content = [UInt8](repeating: 0x78, count: number == "0" ? 0 : 1)
                    try await client.send(
                        FrameClient.request("POST", "/a", on: 1, fields: fields, endsStream: false),
                        FrameClient.Frame(type: FrameClient.Frame.data, flags: 1, stream: 1, payload: content)
                    )
                    let response = try #require(try await client.responses([1])[1])
                    let isSmall = number == "0" || number == "1"
                    #expect(
                        isSmall ? response.status == 200 : response.reset != nil || response.status >= 400,
                        "\(number)"
                    )
                }
            }
        }
    }

    /// All settings of RFC 9113 §6.5.2 and RFC 8441 §3, and increments of windows.
    @Test func settingsAndWindowsOfAnySize() async throws {
        let sizes: [UInt32] = [0, 1, 0x3FFF, 0x4000, 0xFF_FFFF, 0x100_0000, 0x7FFF_FFFF, 0x8000_0000, .max]
        try await Self.withGateway { gateway, _ in
            for setting: UInt16 in [1, 2, 3, 4, 5, 6, 8, 0xFFFF] {
                for size in sizes {
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        try? await client.send(FrameClient.beginning([(setting, size)]))
                        try? await client.send(FrameClient.get("/a", on: 1))
                        // A window of 0 holds the content back, and some values end the connection.
                        let head = await client.frame { $0.type == FrameClient.Frame.headers || $0.code != nil }
                        #expect(head != nil, "setting \(setting) of \(size)")
                    }
                }
            }
            for size in sizes {
                for stream: UInt32 in [0, 1] {
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        try? await client.send(FrameClient.beginning())
                        try? await client.send(
                            FrameClient.get("/a", on: 1).bytes + FrameClient.window(size, on: stream).bytes
                        )
                        let head = await client.frame { $0.type == FrameClient.Frame.headers || $0.code != nil }
                        #expect(head != nil, "window \(size) of \(stream)")
                    }
                }
            }
            #expect(try await gateway.get("/alive").status == 200)
        }
    }

    /// Frames whose length is stated and that never come, and paddings and priorities of any size.
    @Test func framesOfAnyLength() async throws {
        try await Self.withGateway { gateway, _ in
            for length: UInt32 in [0, 1, 4, 5, 16_383, 16_384, 16_385, 0x7F_FFFF, 0xFF_FFFF] {
                for type: UInt8 in 0...10 {
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        try? await client.send(FrameClient.beginning())
                        let header: [UInt8] = [
                            UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, 0x2D, 0, 0, 0,
                            1,
                        ]
                        try? await client.send(header + [0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
                        // The gateway's settings: it reads this connection.
                        #expect(await client.frame() != nil)
                    }
                }
            }
            #expect(try await gateway.get("/alive").status == 200)
        }
    }

    // MARK: The PROXY protocol

    @Test func portsAndLengthsOfTheProxyProtocol() async throws {
        for number in StatedNumbers.all {
            let line = Array("PROXY TCP4 192.0.2.1 198.51.100.1 \(number) \(number)\r\n".utf8)
            let reading = line.withUnsafeBytes { ProxyHeader.read($0) }
            if let port = UInt16(number) {
                let end = ProxyHeader.Endpoint(address: "192.0.2.1", port: port)
                guard case .header(let header) = reading else {
                    Issue.record("\(number) is refused")
                    continue
                }
                #expect(header.endpoints?.source == end)
            } else {
                #expect(reading == .refused(.malformed), "\(number)")
            }
        }
        let signature = ProxyHeaderTests.signature
        for length: UInt16 in [0, 1, 11, 12, 13, 0x7FFF, 0x8000, .max] {
            for family: UInt8 in [0, 0x11, 0x21, 0x31, 0xFF] {
                let head = signature + [0x21, family, UInt8(length >> 8), UInt8(length & 0xFF)]
                for count in [0, 12, 36, 300] {
                    let bytes = head + [UInt8](repeating: 0xFF, count: count)
                    _ = bytes.withUnsafeBytes { ProxyHeader.read($0) }
                }
                // An extension whose length is stated.
                let block = ProxyHeaderTests.block(1, 0x11, ProxyHeaderTests.addresses + [4, UInt8(length >> 8), 0xFF])
                #expect(block.withUnsafeBytes { ProxyHeader.read($0) } == .refused(.malformed))
            }
        }
    }
}
