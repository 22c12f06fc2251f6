import Holdfast
import HoldfastTesting
import Testing

/// The page "Coming from Moya, Alamofire or URLCache".
@Suite(.timeLimit(.minutes(20))) struct ComingFromPageTests {
    typealias Feed = GettingStartedTests.Feed

    private struct Movie: Decodable, Sendable, Equatable { let title: String }

    enum MovieAPI: Endpoint {
        case movie(Int)
        var baseURL: String { "https://api.example.com" }
        var path: URLPath {
            switch self {
            case .movie(let id): "/movies/\(id)"
            }
        }
    }

    @Test func endpointAndURLShareTheStoredResponse() async throws {
        try await withTestClient { test async throws in
            let client = test.client
            test.transport.script(
                "https://api.example.com/movies/7",
                .ok(#"{"title": "Stalker"}"#, fields: [.cacheControl: "max-age=60"])
            )
            func asFromMoya() async throws -> Movie {
                let movie = try await client.fetch(MovieAPI.movie(7), as: Movie.self).value
                return movie
            }
            func asFromAlamofire() async throws -> Movie {
                let movie = try await client.get("https://api.example.com/movies/7", as: Movie.self).value
                return movie
            }
            #expect(try await asFromMoya() == Movie(title: "Stalker"))
            #expect(try await asFromAlamofire() == Movie(title: "Stalker"))
            #expect(test.transport.requests.count == 1)
        }
    }

    /// Not run: it opens a folder in the current directory.
    private func asFromURLCache(_ url: String) async throws -> Feed {
        var storeConfiguration = CacheManager.Configuration(budget: 256 << 20)
        storeConfiguration.memoryBudget = 16 << 20
        let client = try await CachingClient.open(store: "feed.store", storeConfiguration: storeConfiguration)
        let feed = try await client.get(url, as: Feed.self, .storedFirst).value
        try await client.close()
        return feed
    }

    @Test func responseIsStoredBeforeItIsDecoded() async throws {
        try await withTestClient { test in
            let url = "https://api.example.com/movies/7"
            test.transport.script(url, .ok(#"{"title": "Stalker"}"#, fields: [.cacheControl: "max-age=60"]))
            #expect(try await test.client.get(url, as: Movie.self).value.title == "Stalker")
            let text = try await test.client.get(url, as: String.self)
            #expect(text.source == .store && text.value == #"{"title": "Stalker"}"#)
        }
    }

    @Test func directivesAreObeyedUnlessYouSayOtherwise() async throws {
        let url = "https://api.example.com/movies/7"
        for (offlineReads, isStored) in [(OfflineReads.asAllowed, false), (.despiteDirectives, true)] {
            try await withTestClient(.init(offlineReads: offlineReads)) { test in
                test.transport.script(url, .ok(#"{"title": "Stalker"}"#, fields: [.cacheControl: "no-store"]))
                _ = try await test.client.get(url, as: Movie.self)
                let stored = try await test.client.stored(AdHocRequest<Movie>(url))
                #expect((stored != nil) == isStored)
            }
        }
    }
}
