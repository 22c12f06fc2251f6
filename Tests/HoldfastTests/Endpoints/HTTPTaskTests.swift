import Foundation
import Holdfast
import NIOCore
import TestSupport
import Testing

@testable import Holdfast

/// How tasks become requests: methods, targets, fields, content.
@Suite(.timeLimit(.minutes(20))) struct HTTPTaskTests {
    private struct Call: Endpoint {
        var baseURL = "https://a.example/v1"
        var path = "/x"
        var task: HTTPTask
        var headers: HTTPFields = [:]
        var storage: CacheRequest.Storage = .byResponse
    }

    private struct Put: Endpoint {
        let baseURL = "https://a.example/v1"
        let path = "/x"
        let method = HTTPRequest.Method.put
        var task: HTTPTask
    }

    private static func content(_ request: CacheRequest) -> String? {
        guard case .buffer(let buffer)? = request.body else { return nil }
        return String(buffer: buffer)
    }

    @Test(arguments: [
        (HTTPTask.plain, HTTPRequest.Method.get), (.query(["a": 1]), .get), (.json(["a": 1]), .post),
        (.urlEncoded(["a": 1]), .get), (.urlEncoded(["a": 1], destination: .content), .post),
        (.encodable(["a"]), .post), (.data(Data("x".utf8), contentType: "text/plain"), .post),
        (.file("/x"), .post), (.multipart([.text("x", name: "a")]), .post),
        (.download(DownloadDestination("/tmp/x")), .get), (.graphQL(GraphQLOperation("{ a }")), .post),
        (.graphQL(GraphQLOperation("{ a }", form: .persisted)), .get),
        (.graphQL(GraphQLOperation("{ a }", form: .registering)), .post),
        (.graphQL(GraphQLOperation("mutation { a }", form: .persisted)), .post),
    ])
    func methodFollowsTheTask(task: HTTPTask, method: HTTPRequest.Method) {
        #expect(Call(task: task).method == method)
        #expect(Put(task: task).method == .put)
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, "/v1/x?a=1", String?.none), (.head, "/v1/x?a=1", nil), (.delete, "/v1/x?a=1", nil),
        (.post, "/v1/x", "a=1"), (.put, "/v1/x", "a=1"), (.patch, "/v1/x", "a=1"),
    ])
    func methodDecidesThePlaceOfURLEncodedParameters(
        method: HTTPRequest.Method,
        target: String,
        content: String?
    ) throws {
        let endpoint = PathEndpoint(
            baseURL: "https://a.example/v1",
            path: "/x",
            method: method,
            task: .urlEncoded(["a": 1])
        )
        let request = try endpoint.request(defaults: .init())
        #expect(request.head.path == target)
        #expect(Self.content(request) == content)
        #expect(
            request.head.headerFields[.contentType] == (content == nil ? nil : "application/x-www-form-urlencoded")
        )
    }

    @Test func parameterDestinationCanBeNamed() throws {
        let inQuery = PathEndpoint(
            baseURL: "https://a.example",
            path: "/",
            method: .post,
            task: .urlEncoded(["a": 1], destination: .query)
        )
        #expect(try inQuery.request(defaults: .init()).head.path == "/?a=1")
        let inContent = Call(task: .urlEncoded(["a": 1], destination: .content))
        let request = try inContent.request(defaults: RequestDefaults(parameters: ["key": "k"]))
        #expect(request.head.path == "/v1/x?key=k" && Self.content(request) == "a=1")
    }

    @Test func missingParametersAreAnError() async throws {
        for task in [
            HTTPTask.urlEncoded([:], destination: .content), .multipart([]), .graphQL(GraphQLOperation(" \n")),
        ] {
            await expect(.parametersMissing) { _ = try Call(task: task).request(defaults: .init()) }
        }
        for task in [HTTPTask.plain, .query([:]), .parameters(), .urlEncoded([:])] {
            #expect(try Call(task: task).request(defaults: .init()).head.path == "/v1/x")
        }
        #expect(Self.content(try Call(task: .json([:])).request(defaults: .init())) == "{}")
    }

    @Test func environmentChoosesTheBaseURL() async throws {
        let staging = ServerEnvironment(
            "staging",
            baseURL: "https://staging.example/v2",
            services: ["images": "https://img.example"]
        )
        var endpoint = Call(baseURL: "", task: .plain)
        let request = try endpoint.request(environment: staging, defaults: .init())
        #expect(request.head.authority == "staging.example" && request.head.path == "/v2/x")
        endpoint.baseURL = "https://own.example"
        #expect(try endpoint.request(environment: staging, defaults: .init()).head.authority == "own.example")
        #expect(try Images().request(environment: staging, defaults: .init()).head.authority == "img.example")
        await expect(.urlMissing) { _ = try Images().request(defaults: .init()) }
        await expect(.urlMissing) { _ = try Call(baseURL: "", task: .plain).request(defaults: .init()) }
    }

    private struct Images: Endpoint {
        let path = "/a.png"
        func baseURL(in environment: ServerEnvironment?) -> String { environment?.services["images"] ?? "" }
    }

    @Test func callFieldsOverrideTaskFieldsAndTheseTheClients() throws {
        let endpoint = Call(
            task: .parameters(headers: [.accept: "task", .userAgent: "task"]),
            headers: [.accept: "call"]
        )
        let defaults = RequestDefaults(fields: [.accept: "client", .userAgent: "client", .cacheControl: "client"])
        let fields = try endpoint.request(defaults: defaults).head.headerFields
        #expect(fields == [.cacheControl: "client", .userAgent: "task", .accept: "call"])
    }

    @Test func encodersAreChosenPerTask() throws {
        struct Value: Encodable, Sendable {
            var b = "x y"
            var a = [1, 2]
            var date = Date(timeIntervalSince1970: 0)
        }
        let json = try Call(task: .encodable(Value())).request(defaults: .init())
        #expect(Self.content(json) == #"{"a":[1,2],"b":"x y","date":"1970-01-01T00:00:00Z"}"#)
        #expect(json.head.headerFields[.contentType] == "application/json")

        let form = try Call(task: .encodable(Value(), encoder: FormContentEncoder())).request(defaults: .init())
        #expect(Self.content(form) == "a=1&a=2&b=x+y&date=1970-01-01T00%3A00%3A00Z")
        #expect(form.head.headerFields[.contentType] == "application/x-www-form-urlencoded")

        let own = JSONEncoder()
        own.dateEncodingStrategy = .secondsSince1970
        own.keyEncodingStrategy = .convertToSnakeCase
        let encoder = JSONContentEncoder(own, contentType: "application/vnd.api+json")
        let other = try Call(task: .encodable(Value(), encoder: encoder)).request(defaults: .init())
        #expect(Self.content(other) == #"{"a":[1,2],"b":"x y","date":0}"#)
        #expect(other.head.headerFields[.contentType] == "application/vnd.api+json")
    }

    @Test func formNeedsNames() async {
        await expect(.encodingFailed) { _ = try FormContentEncoder().encode(["a", "b"]) }
    }

    @Test func messagesNameThePlaceAndNotTheValue() throws {
        struct Key: Encodable {
            var token = "s3cret"
            var rate = Double.infinity
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue(
                    token,
                    .init(codingPath: encoder.codingPath, debugDescription: "not \(token)")
                )
            }
        }
        let error = #expect(throws: HoldfastError.self) { try JSONContentEncoder().encode(["key": Key()]) }
        #expect(error?.message.contains("s3cret") == false)
        #expect(error?.message.contains("at 'key'") == true)
    }

    @Test(arguments: [
        "ftp://a.example?x=s3cret", "https://a.example:99999?x=s3cret", "https://?x=s3cret",
        "https://a.example?x=s3cret\n",
    ])
    func targetErrorsShowNoQueryValue(base: String) throws {
        let endpoint = Call(baseURL: base, path: "/x?token=s3cret", task: .query(["q": "s3cret"]))
        let error = #expect(throws: HoldfastError.self) {
            try endpoint.request(defaults: .init(parameters: ["k": "s3cret"]))
        }
        #expect(
            error?.code == .invalidURL
                && error.map { "\($0) \(String(describing: $0.cause))".contains("s3cret") } == false
        )
    }

    @Test(arguments: ["/%00?token=s3cret", "/x?appid=s3cret\u{7F}", "/%00?s3cret"])
    func pathErrorsShowNoQueryValue(path: String) throws {
        let endpoint = Call(path: path, task: .query(["q": "s3cret"]))
        let error = #expect(throws: HoldfastError.self) { try endpoint.request(defaults: .init()) }
        #expect(
            error?.code == .invalidURL
                && error.map { "\($0) \(String(describing: $0.cause))".contains("s3cret") } == false
        )
    }

    @Test(arguments: [
        (ParameterValue.Dates.iso8601, 1_700_000_000.9, "d=2023-11-14T22%3A13%3A20Z"),
        (.secondsSince1970, 1_700_000_000.9, "d=1700000000"), (.secondsSince1970, -0.5, "d=-1"),
        (.millisecondsSince1970, 1_700_000_000.25, "d=1700000000250"),
        (.secondsSince1970, 1e300, "d=9223372036854775807"),
    ])
    func datesFollowTheNamedConvention(convention: ParameterValue.Dates, seconds: Double, expected: String) throws {
        let value = ParameterValue.date(Date(timeIntervalSince1970: seconds), as: convention)
        #expect(try URLParameterEncoder().query(["d": value]) == expected)
    }

    @Test func contentReadOnceIsInNoKey() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/file.txt"
        try Data("x".utf8).write(to: URL(filePath: path))
        let request = try Call(task: .file(path), storage: .expiring(.never)).request(defaults: .init())
        #expect(request.storage == .never && !request.keysContent)
        let inMemory = try Call(task: .multipart([.text("x", name: "a")]), storage: .expiring(.never))
            .request(defaults: .init())
        #expect(inMemory.storage == .expiring(.never) && inMemory.keysContent)
    }
}
