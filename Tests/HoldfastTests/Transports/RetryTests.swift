import Foundation
import HoldfastTesting
import SampleOrigin
import Synchronization
import TestSupport
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct RetryTests {
    private static let target = "https://a.example/thing"
    private let endpoint = PathEndpoint(baseURL: "https://a.example", path: "/thing")

    private static func configuration(_ policy: RetryPlan = RetryPlan()) -> CachingClient.Configuration {
        var configuration = CachingClient.Configuration()
        configuration.retry = policy
        return configuration
    }

    /// Advances the clock by the longest wait each time that a task sleeps on it, `count` times.
    private func wake(_ clock: ManualDurationClock, _ count: Int) async {
        for _ in 1...count {
            // The engine's own limit sleeps all the time.
            await clock.sleepers(atLeast: 2)
            clock.advance(by: .milliseconds(400))
        }
    }

    @Test func rejectionsAndFailuresAreRetriedAndTheCallerSeesOneResponse() async throws {
        let fixture = try await ManualFixture(Self.configuration())
        fixture.transport.script(Self.target, .status(.serviceUnavailable), .failure(.connectionClosed), .ok("there"))
        async let value = fixture.client.fetch(endpoint).value
        await wake(fixture.sleeper, 2)
        let result = try await value
        #expect(result == "there")
        #expect(fixture.transport.requests.count == 3)
        #expect(fixture.transport.unscripted.isEmpty)
        try await fixture.close()
    }

    @Test func lastResponseIsFinal() async throws {
        let fixture = try await ManualFixture(Self.configuration())
        fixture.transport.script(
            Self.target,
            .status(.serviceUnavailable),
            .status(.serviceUnavailable),
            .status(.badGateway, "third")
        )
        async let result = fixture.client.call(endpoint).accepting(.any).fetch()
        await wake(fixture.sleeper, 2)
        let emission = try await result
        #expect(emission.status == .badGateway)
        #expect(emission.value == "third")
        try await fixture.close()
    }

    @Test func requestWithoutAPolicyIsSentOnce() async throws {
        let fixture = try await ManualFixture()
        fixture.transport.script(Self.target, .status(.serviceUnavailable))
        await expect(.status) { _ = try await fixture.client.fetch(endpoint) }
        #expect(fixture.transport.requests.count == 1)
        try await fixture.close()
    }

    @Test func mutationIsRetriedOnlyIfMarkedIdempotent() async throws {
        struct Change: Endpoint {
            var isMarked: Bool
            var baseURL: String { "https://a.example" }
            var path: String { "/thing" }
            var method: HTTPRequest.Method { .post }
            var task: HTTPTask { .json(["likes": 1]) }
            var isIdempotent: Bool { isMarked }
        }
        let fixture = try await ManualFixture(Self.configuration())
        fixture.transport.script(Self.target, .failure(.connectionClosed))
        await expect(.originUnreachable) { _ = try await fixture.client.fetch(Change(isMarked: false)) }
        #expect(fixture.transport.requests.count == 1)
        try await fixture.close()

        let other = try await ManualFixture(Self.configuration())
        other.transport.script(Self.target, .failure(.connectionClosed), .ok("done"))
        async let value = other.client.fetch(Change(isMarked: true), as: String.self).value
        await wake(other.sleeper, 1)
        let result = try await value
        #expect(result == "done")
        try await other.close()
    }

    @Test func fileUploadIsRetriedFromTheBeginning() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/file"
        try writeFile(file, [UInt8](repeating: 7, count: 300_000))
        try await ClientFixture.run(Self.configuration(RetryPlan(limit: 1, delay: .zero))) { fixture in
            struct Upload: Endpoint {
                typealias Response = String
                var baseURL: String
                var file: String
                var path: String { "/echo" }
                var method: HTTPRequest.Method { .put }
                var task: HTTPTask { .file(file, contentType: "application/octet-stream") }
                var isIdempotent: Bool { true }
            }
            fixture.origin.force(.status(503))
            let endpoint = Upload(baseURL: fixture.origin.baseURL, file: file)
            let heard = Events()
            _ = try await fixture.client.call(endpoint).with { options in
                options.onProgress = { if $0.direction == .upload { heard.append("\($0.completed)") } }
            }.fetch()
            #expect(fixture.origin.requestCount == 2)
            // The second try read all of the file again, from the beginning.
            #expect(heard.all.last == "300000" && heard.all.filter { $0 == "65536" }.count == 2)
        }
    }

    @Test func callPolicyOverridesEndpointAndClient() async throws {
        let fixture = try await ManualFixture(Self.configuration(RetryPlan(limit: 5)))
        fixture.transport.script(Self.target, .status(.serviceUnavailable))
        await expect(.status) {
            _ = try await fixture.client.call(endpoint).with { $0.retry = .never }.fetch()
        }
        #expect(fixture.transport.requests.count == 1)
        try await fixture.close()
    }

    @Test func cancellingEndsTheWaitAtOnce() async throws {
        let fixture = try await ManualFixture(Self.configuration())
        fixture.transport.script(Self.target, .status(.serviceUnavailable))
        let task = Task { try await fixture.client.fetch(endpoint).value }
        await fixture.sleeper.sleepers(atLeast: 2)
        task.cancel()
        await expect(.cancelled) { _ = try await task.value }
        #expect(fixture.transport.requests.count == 1)
        try await fixture.close()
    }

    @Test func callTimeoutEndsTheWait() async throws {
        let policy = RetryPlan(limit: 1, delay: .seconds(8))
        let fixture = try await ManualFixture(Self.configuration(policy))
        fixture.transport.script(Self.target, .status(.serviceUnavailable))
        let task = Task {
            try await fixture.client.call(endpoint).with { $0.timeout = .seconds(1) }.fetch().value
        }
        await fixture.sleeper.sleepers(atLeast: 3)
        fixture.sleeper.advance(by: .seconds(1))
        await expect(.timeout) { _ = try await task.value }
        #expect(fixture.transport.requests.count == 1)
        try await fixture.close()
    }

    @Test func everyTryIsObserved() async throws {
        let observer = Counter()
        var configuration = Self.configuration()
        configuration.plugins = [observer]
        let fixture = try await ManualFixture(configuration)
        fixture.transport.script(Self.target, .failure(.connect), .ok("there"))
        async let value = fixture.client.fetch(endpoint).value
        await wake(fixture.sleeper, 1)
        _ = try await value
        #expect(observer.sent.withLock { $0 } == 2)
        try await fixture.close()
    }

    private final class Counter: ObservingPlugin {
        let sent = Mutex(0)
        func willSend(_ request: SentRequest, for call: CallInfo) { sent.withLock { $0 += 1 } }
    }

    @Test func originIsAskedAgainOverARealConnection() async throws {
        try await ClientFixture.run(Self.configuration(RetryPlan(limit: 3, delay: .zero))) { fixture in
            fixture.origin.force(.status(503), times: 1)
            fixture.origin.force(.reset, times: 1)
            fixture.origin.force(.status(429, fields: [("Retry-After", "0")]), times: 1)
            let value = try await fixture.client.fetch(fixture.feed).value
            #expect(value.userDetails.id == "harbour")
            #expect(fixture.origin.requestCount == 4)
        }
    }

    @Test func connectionOfARejectedResponseIsReturnedOrClosed() async throws {
        let hold = OriginGate()
        try await ClientFixture.run(Self.configuration(RetryPlan(limit: 1, delay: .zero, statuses: [200]))) {
            fixture in
            // A body that never ends must not keep its connection.
            fixture.origin.force(.holdBody(after: 10, hold), times: 1)
            let value = try await fixture.client.fetch(fixture.get("/bytes/1000"), as: Data.self).value
            #expect(value.count == 1000)
            await fixture.origin.waitForOpenConnections(atMost: 1)
            hold.open()
        }
    }
}
