import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import NIOPosix
import Synchronization
import Testing

@testable import HoldfastGateway

/// Hits on responses that are not in memory: looked up on another thread, served on the loop.
@Suite(.timeLimit(.minutes(20))) struct DiskHitTests {
    /// Stores the origin's response to `GET /a`, and continues with a store whose call list is
    /// empty.
    private func with(
        _ steps: [RawOrigin.Step],
        isCached: Bool? = nil,
        _ body: (RunningGateway, DiskStore, RawOrigin) async throws -> Void
    ) async throws {
        let made = Mutex<DiskStore?>(nil)
        try await RawOrigin.with(steps) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                hasResidentBodies: true,
                wrapping: { store in
                    let disk = DiskStore(store, isCached: isCached)
                    made.withLock { $0 = disk }
                    return disk
                }
            ) { gateway in
                let disk = try #require(made.withLock { $0 })
                #expect(try await gateway.get("/a").status == 200)
                try await until { !gateway.store.all.isEmpty }
                disk.forgetOperations()
                try await body(gateway, disk, origin)
                #expect(disk.operationsOnLoops == [])
            }
        }
    }

    /// Waits until a condition holds that another task brings about.
    private func until(_ condition: () -> Bool) async throws {
        while !condition() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    private static let stored = RawOrigin.Step.ok("stored", fields: "Cache-Control: max-age=60\r\nETag: \"1\"\r\n")

    /// Mutants: `lookedUp` that serves nothing; a lookup on the loop.
    @Test func readsHeadAndBodyInOneVisitToTheDisk() async throws {
        try await with([Self.stored]) { gateway, disk, _ in
            let hit = try await gateway.get("/a")
            #expect(hit["Cache-Status"] == "holdfast; hit; ttl=60")
            #expect(hit.text == "stored")
            #expect(disk.operations == ["lookupInPlace"])
        }
    }

    /// Mutant: `ClientExchange.begin` without lookups on the loop.
    @Test(arguments: [(true, ["immediateLookup"]), (false, ["immediateLookup", "lookupInPlace"])])
    func looksUpOnTheLoopWhatNeedsNoWaiting(_ isCached: Bool, _ operations: [String]) async throws {
        try await with([Self.stored], isCached: isCached) { gateway, disk, _ in
            let hit = try await gateway.get("/a")
            #expect(hit["Cache-Status"] == "holdfast; hit; ttl=60")
            #expect(hit.text == "stored")
            #expect(disk.operations == operations)
        }
    }

    @Test(arguments: [true, false]) func thirtyClientsGetPipelinedHitsInOrder(_ isCached: Bool) async throws {
        try await with([Self.stored], isCached: isCached) { gateway, _, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<30 {
                    group.addTask {
                        try await RawClient.with(port: gateway.port) { client in
                            let request = "GET /a HTTP/1.1\r\nHost: gateway.example\r\n"
                            try await client.send(
                                request + "\r\n" + request + "If-None-Match: \"1\"\r\n\r\n" + request + "\r\n"
                            )
                            let first = try await client.response()
                            #expect(first.text == "stored")
                            let second = try await client.response(isHead: true)
                            #expect(second.status == 304)
                            let third = try await client.response()
                            #expect(third.text == "stored")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Mutant: `ConnectionHandler.lookedUp` that does not continue if the found response cannot be
    /// served.
    @Test func revalidatesStaleResponses() async throws {
        let renewed = RawOrigin.Step.response("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n")
        try await with([Self.stored, renewed]) { gateway, _, _ in
            gateway.clock.advance(by: .seconds(100))
            let validated = try await gateway.get("/a")
            #expect(validated["Cache-Status"]?.contains("fwd-status=304") == true)
            #expect(validated.text == "stored")
        }
    }

    @Test func failingStoreDoesNotFailTheResponse() async throws {
        try await with([Self.stored, .ok("fetched")]) { gateway, disk, _ in
            disk.fail()
            let response = try await gateway.get("/a")
            #expect(response.status == 200)
            #expect(response.text == "fetched")
        }
    }

    /// Mutant: `returnResults` that notifies only the last request.
    @Test func pipelinedRequestsGetResponsesInOrder() async throws {
        try await with([Self.stored]) { gateway, disk, _ in
            try await RawClient.with(port: gateway.port) { client in
                let request = "GET /a HTTP/1.1\r\nHost: gateway.example\r\n"
                try await client.send(
                    request + "\r\n" + request + "If-None-Match: \"1\"\r\n\r\n" + request + "Range: bytes=1-3\r\n\r\n"
                )
                #expect(try await client.response().text == "stored")
                #expect(try await client.response(isHead: true).status == 304)
                let part = try await client.response()
                #expect(part.status == 206)
                #expect(part.text == "tor")
            }
            // The content that came with the head is cut there.
            #expect(!disk.operations.contains("openBody"))
        }
    }

    /// Mutant: `receive` without the check.
    @Test func clientGoneDuringItsLookupCancelsNoOtherClients() async throws {
        try await with([Self.stored]) { gateway, disk, _ in
            try await disk.whileStanding {
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET /a HTTP/1.1\r\nHost: gateway.example\r\n\r\n")
                    try await until { !disk.operations.isEmpty }
                    await client.reset()
                }
            }
            #expect(try await gateway.get("/a").text == "stored")
        }
    }

    /// The result of a lookup goes to the event loop, which must not have ended.
    @Test func stopWaitsForALookupWhoseClientHasLeft() async throws {
        try await with([Self.stored]) { gateway, disk, _ in
            let stop = try await disk.whileStanding {
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET /a HTTP/1.1\r\nHost: gateway.example\r\n\r\n")
                    try await until { !disk.operations.isEmpty }
                    await client.reset()
                }
                let stop = Task { await gateway.server.stop() }
                try await until { gateway.server.connectionCount == 0 }
                #expect(gateway.server.pendingWorkCount == 1)
                return stop
            }
            await stop.value
            #expect(gateway.server.pendingWorkCount == 0)
        }
    }
}
