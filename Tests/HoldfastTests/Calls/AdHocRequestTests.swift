import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// Requests that are written without a type of their own.
@Suite(.timeLimit(.minutes(20))) struct AdHocRequestTests {
    private struct Movie: Codable, Sendable, Equatable { var title: String }

    private static let url = ScriptedClient.url

    @Test func getDecodesAndStores() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie?q=a%26b%20%C3%BC", .fresh(#"{"title":"Stalker"}"#))
            for _ in 0..<2 {
                let movie = try await fixture.client.get(Self.url + "/movie", as: Movie.self, query: ["q": "a&b ü"])
                #expect(movie.value == Movie(title: "Stalker"))
            }
            #expect(fixture.transport.requests.count == 1)
            let declared = PathEndpoint(baseURL: Self.url, path: "/movie", task: .query(["q": "a&b ü"]))
            #expect(try await fixture.client.stored(declared, as: Movie.self)?.value.title == "Stalker")
        }
    }

    @Test func startWithAndOnCacheEmitTheStoredValueFirst() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/n", .fresh("1"), .fresh("2"), .fresh("3"))
            let url = Self.url + "/n"
            _ = try await fixture.client.get(url, as: Int.self)
            let both = await fixture.client.startWith(url, as: Int.self).collected()
            #expect(both.emissions.map(\.value) == [1, 2])
            let events = Events()
            let fresh = fixture.client.onCache(url, as: Int.self) { events.append("stored \($0.value)") }
            for try await emission in fresh.request() { events.append("fresh \(emission.value)") }
            #expect(events.all == ["stored 2", "fresh 3"])
        }
    }

    @Test func mutationsAreSentAsJSON() async throws {
        try await ScriptedClient.run { fixture in
            let url = Self.url + "/movies"
            for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
                fixture.transport.script(url, method: method, .ok(#"{"title":"\#(method)"}"#))
            }
            let movie = Movie(title: "Stalker")
            let client = fixture.client
            #expect(try await client.post(url, movie, as: Movie.self).value.title == "POST")
            #expect(try await client.put(url, movie, as: Movie.self).value.title == "PUT")
            #expect(try await client.patch(url, movie, as: Movie.self).value.title == "PATCH")
            // The responses do not matter here.
            try await client.delete(url)
            let sent = fixture.transport.requests
            #expect(sent.map(\.method) == [.post, .put, .patch, .delete])
            #expect(
                sent.map { $0.headerFields[.contentType] } == Array(repeating: "application/json", count: 3) + [nil]
            )
        }
    }

    @Test(arguments: [
        ("", HoldfastError.Code.urlMissing), ("/movie", .urlMissing), ("no url", .urlMissing),
        ("ftp://a.example/x", .invalidURL), ("https://", .invalidURL), ("https://a b/", .invalidURL),
        ("mailto:ada@a.example", .invalidURL), ("https://a.example:99999/", .invalidURL),
        ("localhost:8080/x", .invalidURL),
    ]) func invalidURLFailsTheRequest(url: String, code: HoldfastError.Code) async throws {
        try await ScriptedClient.run { fixture in
            let client = fixture.client
            await expect(code) { _ = try await client.get(url, as: Movie.self) }
            await expect(code) { try await client.post(url, Movie(title: "")) }
            let stream = await client.startWith(url, as: Movie.self).collected()
            #expect(stream.failure == code && stream.emissions.isEmpty)
            let events = Events()
            let subscription = client.onCache(url, as: Movie.self) { _ in events.append("stored") }
                .request(onNext: { _ in events.append("fresh") }, onError: { events.append("\($0.code)") })
            await subscription.finished()
            #expect(events.all == ["\(code)"])
        }
    }

    @Test(arguments: ["/users/../admin", "/users/%2e%2E/admin", "/users/..;x", "/users/..?q=1", "/users/..%2fadmin"])
    func rejectsURLWithDotSegments(path: String) async throws {
        try await ScriptedClient.run { fixture in
            for url in [Self.url + path, path] {
                let error = await #expect(throws: HoldfastError.self) {
                    try await fixture.client.get(url, as: Int.self)
                }
                #expect(error?.code == (url == path ? .urlMissing : .invalidURL))
            }
            #expect(fixture.transport.requests.isEmpty)
        }
    }

    @Test func sendsDotsWithinSegments() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/a.b/..c?q=../x", .fresh("1"))
            let number = try await fixture.client.get(Self.url + "/a.b/..c?q=../x", as: Int.self)
            #expect(number.value == 1)
        }
    }

    @Test func pathIsAppendedToTheEnvironmentsURL() async throws {
        let environment = ServerEnvironment("test", baseURL: Self.url + "/v1")
        try await ScriptedClient.run(.init(environment: environment)) { fixture in
            fixture.script("/v1/movie?t=https://b.example/", .fresh("1"))
            let found = try await fixture.client.get("/movie?t=https://b.example/", as: Int.self)
            #expect(found.value == 1)
        }
    }

    @Test func otherSettingsAreSetOnTheRequest() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", .ok(#"{"data":{"title":"Stalker"}}"#))
            var request = AdHocRequest<Movie>(Self.url + "/movie", headers: [.accept: "application/json"])
            request.storage = .expiring(.after(.seconds(600)))
            request.valuePath = "data"
            request.tags = ["movies"]
            for _ in 0..<2 { #expect(try await fixture.client.fetch(request).value.title == "Stalker") }
            #expect(fixture.sentOnce)
            let update = try await fixture.client.update(request) { $0.title = "Solaris" }
            #expect(update.value?.title == "Solaris")
            try await fixture.store.removeResponses(tagged: "movies")
            #expect(try await fixture.client.stored(request) == nil)
        }
    }

    @Test func mutationsHaveTheDefaultsOfEndpoints() {
        var request = AdHocRequest<NoContent>("/movie", method: .put)
        #expect(request.isMutation && request.invalidatesTarget && !request.isIdempotent)
        request.isMutation = false
        #expect(!request.invalidatesTarget && request.isIdempotent)
        request.invalidatesTarget = true
        request.isIdempotent = false
        #expect(!request.isMutation && request.invalidatesTarget && !request.isIdempotent)

        let read = AdHocRequest<NoContent>("/movie")
        #expect(!read.isMutation && !read.invalidatesTarget && read.isIdempotent)
        var search = AdHocRequest<NoContent>("/search", task: .json(["q": "Stalker"]))
        #expect(search.isMutation)
        search.storage = .expiring(.after(.seconds(600)))
        #expect(!search.isMutation)
    }

    @Test func idempotentMutationIsRetried() async throws {
        let retry = RetryPlan(limit: 1, delay: .zero)
        for isIdempotent in [false, true] {
            try await ScriptedClient.run(.init(retry: retry)) { fixture in
                let url = Self.url + "/like"
                fixture.transport.script(url, method: .put, .status(.serviceUnavailable), .ok(""))
                var like = AdHocRequest<NoContent>(url, method: .put)
                like.isIdempotent = isIdempotent
                let liked = try? await fixture.client.fetch(like)
                #expect((liked != nil) == isIdempotent)
                #expect(fixture.transport.requests.count == (isIdempotent ? 2 : 1))
            }
        }
    }

    @Test func targetStaysValidIfTheRequestSaysSo() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", .fresh("1"))
            let url = Self.url + "/movie"
            _ = try await fixture.client.get(url, as: Int.self)
            fixture.transport.script(url, method: .put, .ok(""))
            var change = AdHocRequest<NoContent>(url, method: .put)
            change.invalidatesTarget = false
            _ = try await fixture.client.fetch(change)
            #expect(try await fixture.client.get(url, as: Int.self).source == .store)
        }
    }

    @Test func sampleIsScripted() async throws {
        try await ScriptedClient.run { fixture in
            var request = AdHocRequest<Movie>(Self.url + "/movie")
            request.sampleResponse = SampleResponse(json: #"{"title":"Stalker"}"#)
            try fixture.transport.script(samplesOf: request)
            #expect(try await fixture.client.fetch(request).value.title == "Stalker")
        }
    }
}

extension ScriptedClient {
    fileprivate var sentOnce: Bool { transport.requests.count == 1 }
}
