import HTTPCache
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import EventLoops
@testable import HoldfastGateway

/// Clients that ask for a long stored response and read nothing: each costs one chunk, and all of
/// them together a limited number.
@Suite(.timeLimit(.minutes(20))) struct StalledReaderTests {
    private static let chunk = 64 << 10
    private static let length = 4 << 20

    /// A gateway that has a response of 4 MiB in its store, and not in memory.
    private func with(
        memory: Int = 128 << 20,
        _ body: (RunningGateway, ChunkedStore) async throws -> Void
    ) async throws {
        let content = String(repeating: "0123456789abcdef", count: Self.length / 16)
        let made = Mutex<ChunkedStore?>(nil)
        var options = EngineOptions.patient
        options.responseMemory = memory
        try await RawOrigin.with([.ok(content, fields: "Cache-Control: max-age=3600\r\n")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                options: options,
                hasResidentBodies: false,
                wrapping: { store in
                    let chunked = ChunkedStore(store)
                    made.withLock { $0 = chunked }
                    return chunked
                }
            ) { gateway in
                let store = try #require(made.withLock { $0 })
                #expect(try await gateway.get("/long").content.count == Self.length)
                #expect(store.chunkCount == 0)
                try await body(gateway, store)
            }
        }
    }

    private func until(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    /// Streams whose windows are closed.
    private func stall(_ client: FrameClient, _ count: Int) async throws -> [UInt32] {
        let streams = (0..<count).map { UInt32($0 * 2 + 1) }
        // SETTINGS_INITIAL_WINDOW_SIZE. RFC 9113 §6.5.2
        try await client.send(FrameClient.beginning([(4, 0)]))
        try await client.send(streams.flatMap { FrameClient.get("/long", on: $0).bytes })
        return streams
    }

    /// Mutants: a chunk is read while the one before is written; the exchange continues while its
    /// stream has content.
    @Test func streamsOfHTTP2CostOneChunkEach() async throws {
        try await with { gateway, store in
            try await RawClient.with(port: gateway.port) { raw in
                let client = FrameClient(raw)
                let streams = try await stall(client, 60)
                for _ in streams { _ = await client.frame { $0.type == FrameClient.Frame.headers } }
                // Whatever is read without being asked for is read by the end of another response.
                #expect(try await gateway.get("/long").content.count == Self.length)
                let ownChunks = Self.length / Self.chunk
                #expect(store.chunkCount == streams.count + ownChunks)
                await until { gateway.engine.contentPermits.count == streams.count }
            }
            // They have left.
            await until { gateway.engine.contentPermits.count == 0 }
        }
    }

    /// The bytes that the system has not taken, for each connection.
    private func untaken(_ gateway: RunningGateway) async throws -> [Int] {
        var result: [Int] = []
        for channel in gateway.server.connections.channels {
            result.append(try await channel.eventLoop.submit { channel.untaken }.get())
        }
        return result
    }

    /// Mutants: the exchange waits only once the channel is not writable; the system takes as much
    /// as it likes.
    @Test func connectionsOfHTTP1CostOneChunkEach() async throws {
        try await with { gateway, store in
            let (gates, port, count) = (Gates(), gateway.port, 30)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<count {
                    group.addTask {
                        try await RawClient.with(port: port, receiveBuffer: 4096) { client in
                            try await client.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
                            await gates.pass("end")
                        }
                    }
                }
                // Until the system takes no more.
                while try await untaken(gateway).count(where: { $0 > 0 }) < count, !Task.isCancelled {
                    await Task.yield()
                }
                #expect(try await gateway.get("/long").content.count == Self.length)
                let waiting = try await untaken(gateway)
                #expect(waiting.allSatisfy { $0 <= Self.chunk }, "\(waiting)")
                // The system takes two chunks that are not sent, and a third if it had room for a
                // part. A fourth waits. Without a limit, the system takes about 40.
                let read = store.chunkCount - Self.length / Self.chunk
                #expect(read <= count * 6, "\(read) chunks")
                await until { gateway.engine.contentPermits.count == count }
                gates.open("end")
                try await group.waitForAll()
            }
        }
    }

    /// Mutant: a head in memory counts as a body.
    @Test func aHitWhoseBodyIsOnDiskCountsForTheDisk() async throws {
        try await with { gateway, _ in
            let response = try await gateway.get("/long")
            #expect(response.content.count == Self.length)
            let scrape = await Scrape(gateway)
            #expect(scrape.count("holdfast_hits_total", ["tier": "disk"]) == 1)
            #expect(scrape.count("holdfast_hits_total") == 1)
        }
    }

    /// Mutants: content is read without a place; a head in memory counts as a body.
    @Test func furtherResponsesWaitForMemory() async throws {
        // 16 places, of which one client gets 12.
        try await with(memory: 16 * Self.chunk) { gateway, store in
            let places = gateway.engine.contentPermits
            try await RawClient.with(port: gateway.port) { raw in
                let client = FrameClient(raw)
                let streams = try await stall(client, 20)
                for _ in 0..<12 { _ = await client.frame { $0.type == FrameClient.Frame.headers } }
                await until { places.waitingCount == 8 }
                #expect(places.count == 12 && store.chunkCount == 12)
                // One that leaves makes room for one that waits.
                try await client.send(FrameClient.reset(try #require(streams.first)))
                _ = await client.frame { $0.type == FrameClient.Frame.headers }
                #expect(places.count == 12 && places.waitingCount == 7 && store.chunkCount == 13)
            }
            await until { places.count == 0 && places.waitingCount == 0 }
            #expect(try await gateway.get("/long").content.count == Self.length)
        }
    }
}
