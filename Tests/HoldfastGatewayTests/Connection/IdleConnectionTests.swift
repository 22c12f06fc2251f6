import NIOCore
import Testing

@testable import HoldfastGateway

/// Connections that wait for their next request need little memory.
@Suite(.timeLimit(.minutes(20))) struct IdleConnectionTests {
    private static let request = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

    /// NIO keeps a connection's buffer for the next read. Mutant: NIO's own first size, 2 KiB.
    @Test func connectionKeepsASmallBufferForReads() async throws {
        let response = RawOrigin.Step.ok("a", fields: "Cache-Control: max-age=60\r\n")
        try await RawOrigin.with([response]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.onEach(of: 30, port: gateway.port) { client, _ in
                    for _ in 0..<3 {
                        try await client.send(Self.request)
                        #expect(try await client.response().text == "a")
                    }
                    for channel in gateway.server.connections.channels {
                        let capacity = try await channel.eventLoop.submit { Self.readCapacity(of: channel) }.get()
                        // Two, if the first was still in use at the second read.
                        #expect(capacity <= 2 * 512)
                    }
                }
            }
        }
    }

    /// The bytes of the buffers that NIO keeps for reads. It shows them to its own tests alone.
    private static func readCapacity(of channel: any Channel) -> Int {
        var parts: Mirror? = Mirror(reflecting: channel)
        while let current = parts, current.descendant("recvBufferPool") == nil { parts = current.superclassMirror }
        // Names that have changed are large, so that the test fails.
        guard let pool = parts?.descendant("recvBufferPool"),
            let others = Mirror(reflecting: pool).descendant("_buffers") as? [ByteBuffer]
        else { return .max }
        let first = Mirror(reflecting: pool).descendant("_buffer", "some") as? ByteBuffer
        return others.map(\.capacity).reduce(first?.capacity ?? 0, +)
    }
}
