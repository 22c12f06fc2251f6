import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastGateway
import HoldfastTesting
import Testing

/// Examples of responses that were not stored.
@Suite(.timeLimit(.minutes(20))) struct NotStoredMemoryTests {
    private func examples(_ gateway: RunningGateway, of target: String) async -> Int {
        await gateway.server.traffic.notStored().count { $0.target == "gateway.example" + target }
    }

    @Test func watchedTargetIsRecordedEachTime() async throws {
        let noStore = RawOrigin.Step.ok("x", fields: "Cache-Control: no-store\r\n")
        try await RawOrigin.with(respond: { _ in noStore }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                for number in 0..<30 { _ = try await gateway.get("/\(number)") }
                gateway.clock.advance(by: .seconds(1))
                await gateway.server.traffic.watch(try TargetURI("http://gateway.example/a?b=1"))
                for _ in 0..<NotStoredExample.limit { _ = try await gateway.get("/a?b=1") }
                #expect(await examples(gateway, of: "/a?b=1") == NotStoredExample.limit)
                gateway.clock.advance(by: .seconds(1))
                // Only the last URL is watched, byte for byte.
                await gateway.server.traffic.watch(try TargetURI("http://gateway.example/c"))
                for target in ["/c", "/c", "/c"] { _ = try await gateway.get(target) }
                #expect(await examples(gateway, of: "/c") == 3)
            }
        }
    }
}
