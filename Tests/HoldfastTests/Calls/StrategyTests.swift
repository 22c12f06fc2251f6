import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct StrategyTests {
    @Test func strategyTypeDecidesHowManyValuesReturn() async throws {
        try await ClientFixture.run { fixture in
            let none: Emission<Feed>? = try await fixture.client.stored(fixture.feed)
            #expect(none == nil && fixture.origin.requestCount == 0)
            let one: Emission<Feed> = try await fixture.client.fetch(fixture.feed, .networkOnly)
            #expect(one.source == .network)
            let stored: Emission<Feed>? = try await fixture.client.stored(fixture.feed)
            #expect(stored?.value == one.value && stored?.source == .store)
        }
    }

    @Test func standardServesFreshValidatesStaleAndFallsBack() async throws {
        try await ClientFixture.run { fixture in
            #expect(try await fixture.client.fetch(fixture.feed).source == .network)
            #expect(try await fixture.client.fetch(fixture.feed).source == .store)
            fixture.clock.advance(by: .seconds(61))
            #expect(try await fixture.client.fetch(fixture.feed).outcome.forwardStatus == 304)
            fixture.clock.advance(by: .seconds(61))
            await fixture.origin.stop()
            let stale = try await fixture.client.fetch(fixture.feed)
            #expect(stale.source == .store && stale.isStale && stale.outcome.detail == .unreachable)
            #expect(fixture.origin.requestCount == 2)
        }
    }

    @Test func storedFirstServesStaleValues() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed, .storedFirst)
            fixture.clock.advance(by: .seconds(100_000))
            let stored = try await fixture.client.fetch(fixture.feed, .storedFirst)
            #expect(stored.source == .store && stored.isStale && fixture.origin.requestCount == 1)
        }
    }

    @Test func networkFirstFallsBackWhenTheBodyBreaksOff() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.get("/bytes/50000"), as: Data.self)
            fixture.origin.force(.truncate(after: 1000))
            fixture.origin.force(.setFields([("ETag", "\"x\"")]))
            let stored = try await fixture.client.fetch(fixture.get("/bytes/50000"), as: Data.self, .networkFirst)
            #expect(stored.value.count == 50_000)
            fixture.origin.behaveNormally()
            await fixture.origin.stop()
            #expect(
                try await fixture.client.fetch(fixture.get("/bytes/50000"), as: Data.self, .networkFirst).source
                    == .store
            )
            await expect(.originUnreachable) {
                _ = try await fixture.client.fetch(fixture.get("/bytes/50000"), .networkOnly)
            }
        }
    }

    @Test func rejectedStatusIsAnErrorWithItsBody() async throws {
        try await ClientFixture.run { fixture in
            do throws(HoldfastError) {
                _ = try await fixture.client.fetch(fixture.get("/failing?status=418"))
                Issue.record("418 was accepted.")
            } catch {
                #expect(error.code == .status && error.status?.code == 418 && error.body?.isEmpty == false)
            }
        }
    }

    @Test func undecodableBodyIsAnErrorAndKeepsTheStoredResponse() async throws {
        try await ClientFixture.run { fixture in
            let html = PathEndpoint(baseURL: fixture.origin.baseURL, path: "/html")
            do throws(HoldfastError) {
                _ = try await fixture.client.fetch(html, as: Feed.self)
                Issue.record("HTML was decoded as a feed.")
            } catch {
                #expect(error.code == .decodingFailed && error.body?.isEmpty == false)
                #expect(!error.message.contains("<"))
            }
            await expect(.noData) { _ = try await fixture.client.fetch(fixture.get("/empty"), as: Feed.self) }
        }
    }

    @Test func sameCodeServesAfterARestartWithoutANetwork() async throws {
        try await ClientFixture.run { fixture in
            let before = try await fixture.client.fetch(fixture.feed).value
            try await fixture.client.close()
            await fixture.origin.stop()
            fixture.clock.advance(by: .seconds(7 * 86_400))
            let client = try await ClientFixture.open(fixture.folder, fixture.clock)
            let emissions = await client.startWith(fixture.feed, ifNetworkFails: .endingQuietly).collected().emissions
            #expect(emissions.map(\.value) == [before] && emissions.first?.isStale == true)
            #expect(try await client.fetch(fixture.feed).value == before)
            try await client.close()
        }
    }

    @Test func malformedURLIsAClearError() async throws {
        try await ClientFixture.run { fixture in
            await expect(.urlMissing) { _ = try await fixture.client.fetch(PathEndpoint(baseURL: "", path: "/x")) }
            for base in [
                "nonsense", "ftp://a.example", "http://", "http://user:secret@a.example", "http://a.example:99999",
            ] {
                await expect(.invalidURL) {
                    _ = try await fixture.client.fetch(PathEndpoint(baseURL: base, path: "/x"))
                }
            }
            do {
                _ = try await fixture.client.fetch(PathEndpoint(baseURL: "http://user:hunter2@a.example", path: "/"))
            } catch {
                #expect(!"\(error)".contains("hunter2"))
            }
        }
    }

    @Test func bodyLimitHolds() async throws {
        try await ClientFixture.run(.init(maximumBodyBytes: 1000)) { fixture in
            await expect(.bodyTooLarge) { _ = try await fixture.client.fetch(fixture.get("/bytes/1001")) }
            await expect(.bodyTooLarge) { _ = try await fixture.client.fetch(fixture.get("/bytes/1001?chunked=true")) }
            let whole = try await fixture.client.fetch(fixture.get("/bytes/1000"), as: Data.self)
            #expect(whole.value.count == 1000)
        }
    }

    @Test func concurrentCallsShareOneFetch() async throws {
        try await ClientFixture.run { fixture in
            let gate = OriginGate()
            fixture.origin.force(.hold(gate))
            try await withThrowingTaskGroup(of: Feed.self) { group in
                for _ in 0..<50 { group.addTask { try await fixture.client.fetch(fixture.feed).value } }
                while fixture.origin.requestCount == 0, !Task.isCancelled { await Task.yield() }
                gate.open()
                let values = try await group.reduce(into: []) { $0.append($1) }
                #expect(values.count == 50 && values.allSatisfy { $0 == values[0] })
            }
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func closedClientIsAnError() async throws {
        try await ClientFixture.run { fixture in
            try await fixture.client.close()
            await expect(.closed) { _ = try await fixture.client.fetch(fixture.feed) }
        }
    }
}
