import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct ResilienceTests {
    @Test func damagedBodyIsFetchedAndStoredAgain() async throws {
        try await ClientFixture.run { fixture in
            let endpoint = fixture.get("/bytes/300000")
            let whole = try await fixture.client.fetch(endpoint, as: Data.self).value
            try await fixture.client.close()
            #expect(try damage(whole[140_000..<140_032], in: fixture.folder) > 0)
            let client = try await ClientFixture.open(fixture.folder, fixture.clock)
            for _ in 0..<2 {
                let again = try await client.fetch(endpoint, as: Data.self)
                #expect(again.value == whole)
            }
            #expect(fixture.origin.requestCount == 2)
            let stream = await client.startWith(endpoint, as: Data.self).collected()
            #expect(stream.failure == nil && stream.emissions.map(\.value) == [whole, whole])
            try await client.close()
        }
    }

    /// Flips these bytes in every file of the store.
    private func damage(_ bytes: Data, in folder: String) throws -> Int {
        var count = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let url = URL(filePath: folder).appending(path: name)
            var data = try Data(contentsOf: url)
            while let range = data.range(of: bytes) {
                data[range.lowerBound] ^= 0xFF
                count += 1
            }
            try data.write(to: url)
        }
        return count
    }

    @Test func contentOfAGETIsInTheKey() async throws {
        try await ClientFixture.run { fixture in
            for body in ["one", "two"] {
                fixture.origin.force(.respond(fields: [("Cache-Control", "max-age=60")], body: body))
            }
            func search(_ id: Int) -> PathEndpoint {
                PathEndpoint(baseURL: fixture.origin.baseURL, path: "/search", task: .json(["id": .init(id)]))
            }
            for (id, expected) in [(1, "one"), (2, "two"), (1, "one")] {
                let value = try await fixture.client.fetch(search(id)).value
                #expect(value == expected)
            }
        }
    }

    @Test func hostIsTheURLsWhateverTheFields() async throws {
        try await ClientFixture.run { fixture in
            var endpoint = fixture.get("/echo")
            endpoint.headers[HTTPField.Name("Host") ?? .accept] = "evil.example"
            _ = try await fixture.client.fetch(endpoint, as: Data.self)
            #expect(fixture.origin.requests.last?.values(of: "host") == [fixture.origin.authority])
        }
    }

    @Test func headOfALargeResponseIsNotTooLarge() async throws {
        try await ClientFixture.run(.init(maximumBodyBytes: 1000)) { fixture in
            var endpoint = fixture.get("/bytes/100000")
            endpoint.method = .head
            let emission = try await fixture.client.fetch(endpoint, as: NoContent.self)
            #expect(emission.status == .ok)
        }
    }

    @Test func closedClientIsAnErrorInEveryStrategy() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            try await fixture.client.close()
            await expect(.closed) { _ = try await fixture.client.stored(fixture.feed) }
            await expect(.closed) { _ = try await fixture.client.fetch(fixture.feed, .networkOnly) }
            var post = fixture.get("/echo")
            post.method = .post
            await expect(.closed) { _ = try await fixture.client.fetch(post) }
        }
    }

    @Test func quietEndHidesNoResponse() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            fixture.origin.force(.status(401))
            fixture.origin.force(.status(503))
            let refused = await fixture.client.startWith(fixture.feed, ifNetworkFails: .endingQuietly).collected()
            #expect(refused.failure == .authenticationFailed)
            let down = await fixture.client.startWith(fixture.feed, ifNetworkFails: .endingQuietly).collected()
            #expect(down.failure == nil && down.emissions.count == 1)
        }
    }

    @Test func principalsOfOneClientAreKeptApart() async throws {
        struct Profile: Endpoint {
            typealias Response = String
            var baseURL: String
            let path = "/me"
            var principal: String?
        }
        try await ClientFixture.run { fixture in
            for body in ["alice", "bob"] {
                fixture.origin.force(.respond(fields: [("Cache-Control", "max-age=60")], body: body))
            }
            for name in ["alice", "bob", "alice", "bob"] {
                let profile = Profile(baseURL: fixture.origin.baseURL, principal: name)
                let value = try await fixture.client.fetch(profile).value
                #expect(value == name)
            }
            #expect(fixture.origin.requestCount == 2)
        }
    }

    @Test func cancelledTaskGetsTheCode() async throws {
        try await ClientFixture.run { fixture in
            let gate = OriginGate()
            fixture.origin.force(.hold(gate))
            let task = Task { try await fixture.client.fetch(fixture.feed) }
            while fixture.origin.requestCount == 0, !Task.isCancelled { await Task.yield() }
            task.cancel()
            await expect(.cancelled) { _ = try await task.value }
            gate.open()
        }
    }
}
