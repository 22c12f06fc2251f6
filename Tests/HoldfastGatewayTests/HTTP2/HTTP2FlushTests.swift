import NIOCore
import Testing

@testable import HoldfastGateway

/// A channel may read, or close, before a flush returns: NIO does so when a write fails. nghttp2
/// must not be called in the middle of its own call then.
///
/// Mutant: `HTTP2Connection.put` flushes what is long.
@Suite(.timeLimit(.minutes(20)))
struct HTTP2FlushTests {
    /// Longer than what the system buffers for a client that does not read yet.
    private static let content = String(repeating: "0123456789abcdef", count: 1 << 17)

    @Test func flushThatReadsClientFrameLosesNoResponse() async throws {
        try await serve(.read) { client, streams in
            let responses = try await client.responses(streams)
            for stream in streams { #expect(responses[stream]?.text == Self.content) }
        }
    }

    @Test func flushThatClosesLeavesNothingBehind() async throws {
        try await serve(.close) { client, streams in
            // The rest is missing.
            let responses = try await client.responses(streams)
            #expect(responses.values.allSatisfy { Self.content.hasPrefix($0.text) })
            let next = await client.frame()
            #expect(next == nil)
        }
    }

    /// Runs requests on a connection whose flushes do more.
    private func serve(
        _ deed: FlushHandler.Deed,
        check: (FrameClient, Set<UInt32>) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: { _ in .ok(Self.content) }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let gates = Gates()
                // A client that reads fast gets all past the channel, and there is no flush.
                try await RawClient.with(port: gateway.port, receiveBuffer: 64 << 10) { raw in
                    let client = FrameClient(raw)
                    try await client.send(FrameClient.beginning([(4, 1 << 24)]))
                    try await client.send(FrameClient.window(1 << 26, on: 0))
                    _ = await client.frame { $0.type == FrameClient.Frame.settings }
                    let channel = try #require(gateway.server.connections.channels.first)
                    let ping = FrameClient.Frame(type: FrameClient.Frame.ping, payload: Array("12345678".utf8))
                    try await channel.eventLoop.submit {
                        let handler = FlushHandler(deed, reading: ping.bytes) { gates.open("deed") }
                        try channel.pipeline.syncOperations.addHandler(handler, position: .first)
                    }.get()
                    let streams: Set<UInt32> = [1, 3, 5, 7]
                    try await client.send(streams.sorted().flatMap { FrameClient.get("/long", on: $0).bytes })
                    await gates.pass("deed")
                    try await check(client, streams)
                }
            }
        }
    }
}
