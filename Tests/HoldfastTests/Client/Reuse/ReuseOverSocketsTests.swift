import Holdfast
import SampleOrigin
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct ReuseOverSocketsTests {
    @Test func requestIsClosedOnTheWireWhenTheLastCallerLeaves() async throws {
        try await ClientFixture.run { fixture in
            let gate = OriginGate()
            fixture.origin.force(.hold(gate))
            let call = fixture.client.call(fixture.get("/counter")).with { $0.reuseWithin = .seconds(2) }
            let calls = (0..<30).map { _ in Task { try await call.fetch() } }
            await fixture.client.recent.waitForCallers(30)
            while fixture.origin.requestCount == 0, !Task.isCancelled { await Task.yield() }
            for call in calls { call.cancel() }
            await fixture.origin.waitUntilCancelled()
            for call in calls { await expect(.cancelled) { _ = try await call.value } }
            #expect(fixture.origin.requestCount == 1)
        }
    }
}
