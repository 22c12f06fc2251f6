import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

/// Everyday needs of a caller: groups of requests, retries, reuse within a short time, downloads.
@Suite(.timeLimit(.minutes(20))) struct EverydayCallTests {
    @Test func groupKeepsItsOrderAndItsLimit() async throws {
        try await ScriptedClient.run { fixture in
            let gates = (0..<10).map { _ in HoldfastTesting.Gate() }
            for (number, gate) in gates.enumerated() {
                fixture.script("/\(number)", .ok("\(number)", beforeHead: gate))
            }
            let client = fixture.client
            async let values = (0..<10).map { client.call(fixture.get("/\($0)")) }.fetchAll(concurrently: 3).map(
                \.value
            )
            // Of the three requests under way, the last one gets its response first.
            for newest in 2..<10 {
                await fixture.transport.waitForRequests(newest + 1)
                #expect(fixture.transport.requests.count == newest + 1)
                gates[newest].open()
            }
            gates[1].open()
            gates[0].open()
            let fetched = try await values
            #expect(fetched == (0..<10).map(String.init))
        }
    }

    @Test func failedRequestIsSentAgain() async throws {
        try await ScriptedClient.run(.init(retry: RetryPlan(limit: 2, delay: .zero))) { fixture in
            fixture.script("/x", .status(.serviceUnavailable), .failure(.connectionClosed), .fresh("1"))
            let value = try await fixture.client.fetch(fixture.get("/x")).value
            #expect(value == "1" && fixture.transport.requests.count == 3)
        }
    }

    @Test func sameRequestWithinTheWindowIsNotSent() async throws {
        try await ScriptedClient.run { fixture in
            let stale: ScriptedTransport.Reply = .ok("1", fields: [.cacheControl: "max-age=0"])
            fixture.script("/x", stale, .ok("2", fields: [.cacheControl: "max-age=0"]))
            let call = fixture.client.call(fixture.get("/x")).with { $0.reuseWithin = .seconds(2) }
            var values: [String] = []
            for _ in 0..<3 {
                values.append(try await call.fetch().value)
                fixture.clock.advance(by: .seconds(1.5))
            }
            #expect(values == ["1", "1", "2"])
            let emissions = await call.request().collected().emissions
            #expect(emissions.map(\.value) == ["2"] && fixture.transport.requests.count == 2)
        }
    }

    // A download is a GET with parameters to a destination.
    @Test func fileIsDownloadedToItsDestination() async throws {
        struct Download: Endpoint {
            var baseURL: String
            var file: String
            var path: String { "/bytes/300000" }
            var task: HTTPTask { .download(DownloadDestination(file), parameters: ["kind": "whole"]) }
        }
        try await ClientFixture.run { fixture in
            let file = fixture.folder + "-download/bytes.bin"
            defer { try? FileManager.default.removeItem(atPath: fixture.folder + "-download") }
            let downloaded = try await fixture.client.download(Download(baseURL: fixture.origin.baseURL, file: file))
            let whole = try await fixture.client.fetch(fixture.get("/bytes/300000?kind=whole"), as: Data.self).value
            let written = try Data(contentsOf: URL(filePath: file))
            #expect(downloaded.length == 300_000 && written == whole)
            #expect(fixture.origin.requests.first?.method == "GET")
        }
    }
}
