import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// Different requests never get each other's responses. Each test names other libraries that had
/// the fault.
@Suite(.timeLimit(.minutes(20))) struct ClientKeyTests {
    private typealias Request = AnyRequest<String>

    private func get(_ path: String, at url: String = ScriptedClient.url) -> Request {
        Request(baseURL: url, path: path)
    }
    private func post(_ path: String, _ content: String, type: String = "text/plain") -> Request {
        Request(
            baseURL: ScriptedClient.url,
            path: path,
            method: .post,
            task: .data(Data(content.utf8), contentType: type),
            storage: .expiring(.after(.seconds(60)))
        )
    }

    /// Each request gets its own response, and gets it again from the store.
    private func expectApart(_ requests: [Request], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await ScriptedClient.run { fixture in
            for (number, request) in requests.enumerated() {
                let head = try fixture.client.request(for: request).head
                fixture.transport.script(
                    "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")",
                    .fresh("\(number)")
                )
                let first = try await fixture.client.fetch(request).value
                #expect(first == "\(number)", sourceLocation: sourceLocation)
            }
            for (number, request) in requests.enumerated() {
                let again = try await fixture.client.fetch(request)
                #expect(again.value == "\(number)" && again.source == .store, sourceLocation: sourceLocation)
            }
            #expect(fixture.transport.requests.count == requests.count, sourceLocation: sourceLocation)
        }
    }

    // The query was missing from the key (URLCache on Linux; undici 4240).
    @Test func queryIsInTheKey() async throws {
        try await expectApart([
            get("/x"), get("/x?"), get("/x?a=1"), get("/x?a=2"), get("/x?a=1&b=2"), get("/x?b=2&a=1"),
        ])
    }

    // Scheme and port were missing from the key.
    @Test func schemeHostAndPortAreInTheKey() async throws {
        try await expectApart([
            get("/x"), get("/x", at: "http://a.example"), get("/x", at: "https://a.example:8443"),
            get("/x", at: "https://b.example"),
        ])
    }

    // Method or parameters were missing from the key (RxNetwork).
    @Test func methodAndContentAreInTheKey() async throws {
        var query = post("/x", "a")
        query.method = HTTPRequest.Method("QUERY") ?? .post
        try await expectApart([
            get("/x"), post("/x", ""), post("/x", "a"), post("/x", "b"), post("/x", "a", type: "text/css"), query,
        ])
    }

    // The order of a dictionary was random (MoyaMapper, RxNetwork, hyperoslo 297). The same
    // parameters are the same key in every process.
    @Test func parametersAreInOneOrder() async throws {
        try await ScriptedClient.run { fixture in
            let names = (0..<40).map { "name\($0)" }
            func request(_ names: [String], _ task: (RequestParameters) -> HTTPTask, _ method: HTTPRequest.Method)
                -> Request
            {
                let parameters = RequestParameters(
                    Dictionary(uniqueKeysWithValues: names.map { ($0, ["b": 1, "a": [2, ["d": 3, "c": 4]]]) })
                )
                return Request(
                    baseURL: ScriptedClient.url,
                    path: "/x",
                    method: method,
                    task: task(parameters),
                    storage: .expiring(.never)
                )
            }
            let tasks: [((RequestParameters) -> HTTPTask, HTTPRequest.Method)] = [
                ({ .query($0) }, .get), ({ .json($0) }, .post), ({ .urlEncoded($0) }, .post),
                ({ .encodable($0) }, .post),
            ]
            var random = SeededRandom(seed: 1)
            for (task, method) in tasks {
                let one = try fixture.client.request(for: request(names, task, method))
                for _ in 0..<5 {
                    let shuffled = names.shuffled(using: &random)
                    let other = try fixture.client.request(for: request(shuffled, task, method))
                    #expect(one.head == other.head)
                    guard case .buffer(let first)? = one.body, case .buffer(let second)? = other.body else { continue }
                    #expect(first == second)
                }
            }
            // Fixed text: another process writes the same.
            let small = try fixture.client.request(
                for: Request(baseURL: ScriptedClient.url, path: "/x", task: .query(["b": 2, "a": [1, 2]]))
            )
            #expect(small.head.path?.hasSuffix("b=2") == true && small.head.path?.hasPrefix("/x?a") == true)
        }
    }

    // Delimiter injection (undici 5012): values that look like the separators between values.
    @Test func valuesThatLookLikeDelimitersStayValues() async throws {
        func query(_ parameters: RequestParameters) -> Request {
            Request(baseURL: ScriptedClient.url, path: "/x", task: .query(parameters))
        }
        try await expectApart([
            query(["a": "1&b=2"]), query(["a": "1", "b": "2"]), query(["a": "1", "b=2": ""]), query(["a&b": "1"]),
            query(["a": "1#b"]), query(["a": "1%26b=2"]), query(["a": "1+2"]), query(["a": "1 2"]),
        ])
        try await expectApart([post("/x", "a\u{0}b"), post("/x", "a"), post("/x", "b\u{0}a"), post("/x%2500", "b")])
    }

    // No separators at all (requests-cache: POST `/b` + `c` equals POST `/bc`).
    @Test func partsOfAKeyDoNotRunTogether() async throws {
        try await expectApart([post("/b", "c"), post("/bc", ""), post("/", "bc"), get("/b?c"), get("/bc"), get("/?bc")])
        try await expectApart([
            post("/x", "c", type: "text/ab"), post("/x", "bc", type: "text/a"), post("/x", "text/abc", type: "t/t"),
        ])
    }

    // 64-bit digests were trusted as identity. Content is identified by a 256-bit digest, a target
    // by all its bytes. Many requests that differ in one byte stay apart.
    @Test func manySimilarRequestsStayApart() async throws {
        try await expectApart((0..<150).map { get("/items/\($0)") } + (0..<150).map { post("/items", "\($0)") })
    }

    // Normalizing too much (Bodega removes every "www."): only requests that RFC 3986 §6.2 equates
    // are equal.
    @Test func onlyEquivalentRequestsShareAResponse() async throws {
        try await expectApart([
            get("/x", at: "https://www.a.example"), get("/x"), get("/x/"), get("/X"), get("//x"),
            get("/x?utm_source=a"),
            get("/www.x"), get("/%2Fx"),
        ])
        try await ScriptedClient.run { fixture in
            fixture.script("/a%2Db", .fresh("1"))
            for url in ["https://a.example", "HTTPS://A.EXAMPLE:443", "https://a.example/"] {
                let value = try await fixture.client.fetch(get("/a%2Db", at: url)).value
                #expect(value == "1")
            }
            #expect(fixture.transport.requests.count == 1)
        }
    }

    // One user's private response for another user (OkHttp 9365). ResilienceTests covers
    // principals; this test covers credentials without a name too.
    @Test func usersNeverShareResponses() async throws {
        let key = try #require(HTTPField.Name("X-Api-Key"))
        func request(_ headers: HTTPFields, principal: String? = nil) -> Request {
            Request(baseURL: ScriptedClient.url, path: "/me", headers: headers, principal: principal)
        }
        try await ScriptedClient.run { fixture in
            let requests = [
                request([.authorization: "Bearer a"]), request([.authorization: "Bearer b"]),
                request([.cookie: "sid=a"]), request([.cookie: "sid=b"]), request([key: "a"]), request([key: "b"]),
                request([.authorization: "Bearer a"], principal: "ada"),
                request([.authorization: "Bearer a"], principal: "bob"),
            ]
            let fields: HTTPFields = [.cacheControl: "private, max-age=60"]
            for (number, request) in requests.enumerated() {
                fixture.script("/me", .ok("\(number)", fields: fields))
                let value = try await fixture.client.fetch(request).value
                #expect(value == "\(number)")
            }
            for (number, request) in requests.enumerated() {
                #expect(try await fixture.client.fetch(request).value == "\(number)")
                #expect(try await fixture.client.stored(request)?.value == "\(number)")
            }
            // A named principal keeps its responses when its token rotates.
            #expect(
                try await fixture.client.fetch(request([.authorization: "Bearer c"], principal: "ada")).value == "6"
            )
        }
    }
}
