import Foundation
import HoldfastTesting
import SampleOrigin
import Testing

@testable import Holdfast

/// Responses whose content breaks off, under a retry policy.
@Suite(.timeLimit(.minutes(20))) struct BrokenContentTests {
    private static let target = "https://a.example/thing"
    private static let fresh: HTTPFields = [.cacheControl: "max-age=60"]
    private let endpoint = PathEndpoint(baseURL: "https://a.example", path: "/thing")

    private static func configuration(_ limit: Int) -> CachingClient.Configuration {
        var configuration = CachingClient.Configuration()
        configuration.retry = RetryPlan(limit: limit, delay: .zero)
        return configuration
    }

    private func run(
        retries limit: Int,
        _ replies: [ScriptedTransport.Reply],
        _ body: (ManualFixture) async throws -> Void
    ) async throws {
        let fixture = try await ManualFixture(Self.configuration(limit))
        for reply in replies { fixture.transport.script(Self.target, reply) }
        try await body(fixture)
        try await fixture.close()
    }

    /// Each cut of a response, over thirty connections at once.
    @Test func callerGetsTheWholeContentWhereverTheFirstResponseBrokeOff() async throws {
        try await ClientFixture.run(Self.configuration(1)) { fixture in
            for cut in 0..<20 {
                for number in 0..<30 { fixture.origin.force(.truncate(after: cut), path: "/bytes/\(20 + number)") }
                let before = fixture.origin.requestCount
                await withTaskGroup(of: Int?.self) { group in
                    for number in 0..<30 {
                        group.addTask {
                            let endpoint = fixture.get("/bytes/\(20 + number)?cut=\(cut)")
                            let data = try? await fixture.client.fetch(endpoint, as: Data.self).value
                            return data.map { $0.count - number }
                        }
                    }
                    for await count in group { #expect(count == 20, "cut after \(cut) bytes") }
                }
                #expect(fixture.origin.requestCount - before == 60, "cut after \(cut) bytes")
            }
        }
    }

    @Test func limitCountsFailuresRejectionsAndBreaksTogether() async throws {
        for limit in 0...4 {
            try await run(
                retries: limit,
                [
                    .status(.serviceUnavailable), .ok("whole").truncated(after: 2), .failure(.connectionClosed),
                    .ok("whole"),
                ]
            ) { fixture in
                let emission = try? await fixture.client.fetch(endpoint)
                #expect(emission?.value == (limit < 3 ? nil : "whole"), "limit \(limit)")
                #expect(fixture.transport.requests.count == min(limit, 3) + 1, "limit \(limit)")
            }
        }
    }

    @Test func breakIsAnErrorWithoutAPolicyAndAfterTheLastRetry() async throws {
        for limit in [0, 2] {
            let broken = ScriptedTransport.Reply.ok("whole").truncated(after: 2)
            try await run(retries: limit, Array(repeating: broken, count: 3)) { fixture in
                await expect(.truncated) { _ = try await fixture.client.fetch(endpoint) }
                #expect(fixture.transport.requests.count == limit + 1)
            }
        }
    }

    @Test(arguments: [false, true]) func mutationIsRetriedOnlyIfMarkedIdempotent(_ isMarked: Bool) async throws {
        struct Change: Endpoint {
            var isMarked: Bool
            var baseURL: String { "https://a.example" }
            var path: String { "/thing" }
            var method: HTTPRequest.Method { .post }
            var isIdempotent: Bool { isMarked }
        }
        try await run(retries: 1, [.ok("whole").truncated(after: 2), .ok("whole")]) { fixture in
            let emission = try? await fixture.client.fetch(Change(isMarked: isMarked), as: String.self)
            #expect(emission?.value == (isMarked ? "whole" : nil))
            #expect(fixture.transport.requests.count == (isMarked ? 2 : 1))
        }
    }

    @Test func storedValueIsServedOnlyAfterTheLastRetry() async throws {
        let broken = ScriptedTransport.Reply.ok("newer").truncated(after: 2)
        try await run(retries: 2, [.ok("stored", fields: Self.fresh), broken, broken, broken]) { fixture in
            _ = try await fixture.client.fetch(endpoint)
            fixture.clock.advance(by: .seconds(61))
            let emission = try await fixture.client.fetch(endpoint)
            #expect(emission.value == "stored" && emission.isStale && emission.source == .store)
            #expect(fixture.transport.requests.count == 4)
        }
    }

    @Test func streamEmitsTheStoredValueAndOneValueOfTheNetwork() async throws {
        try await run(
            retries: 1,
            [.ok("stored", fields: Self.fresh), .ok("newer").truncated(after: 2), .ok("newer")]
        ) { fixture in
            _ = try await fixture.client.fetch(endpoint)
            fixture.clock.advance(by: .seconds(61))
            let (emissions, failure) = await fixture.client.startWith(endpoint).collected()
            #expect(emissions.map(\.value) == ["stored", "newer"] && failure == nil)
        }
    }

    @Test func progressStartsOver() async throws {
        try await run(retries: 1, [.ok("0123456789").truncated(after: 4), .ok("0123456789")]) { fixture in
            let heard = Events()
            _ = try await fixture.client.call(endpoint).with { options in
                options.onProgress = { heard.append("\($0.completed)") }
            }.fetch()
            #expect(heard.all == ["4", "10"])
        }
    }

    /// Otherwise its retry would end like its first request.
    @Test func callerThatSawTheBreakDoesNotJoinTheFetchThatBrokeOff() async throws {
        for _ in 0..<30 {
            try await run(retries: 1, [.ok("whole", fields: Self.fresh).truncated(after: 2)]) { fixture in
                fixture.transport.script(Self.target, repeating: .ok("whole", fields: Self.fresh))
                await withTaskGroup(of: String?.self) { group in
                    for _ in 0..<30 { group.addTask { try? await fixture.client.fetch(endpoint).value } }
                    for await value in group { #expect(value == "whole") }
                }
                #expect(fixture.transport.requests.count >= 2)
            }
        }
    }

    @Test func downloadResumesWithinTheSameLimit() async throws {
        let content = [UInt8](repeating: 7, count: 100_000)
        for limit in [1, 2] {
            let origin = RangeOrigin(content, fields: [.eTag: "\"one\""])
            let fixture = try await ManualFixture(Self.configuration(limit), transport: origin)
            origin.change { $0.cuts = [1000, 2000] }
            let path = fixture.folder + "/film.bin"
            let file = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(file?.length == (limit == 2 ? 100_000 : nil))
            #expect(origin.ranges == Array([nil, "bytes=1000-", "bytes=3000-"].prefix(limit + 1)))
            try await fixture.close()
        }
    }
}
