import Foundation
import Holdfast
import HoldfastTesting
import NIOCore
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct EndpointTests {
    private func url(_ base: String, _ path: String, _ task: HTTPTask = .plain, defaults: RequestDefaults = .init())
        throws -> String
    {
        let request = try PathEndpoint(baseURL: base, path: path, task: task).request(defaults: defaults)
        return try #require(TargetURI(request: request.head)).uri
    }

    @Test(arguments: [
        ("https://a.example", "/x", "https://a.example/x"),
        ("https://a.example/", "/x", "https://a.example/x"),
        ("https://a.example/v1", "x", "https://a.example/v1/x"),
        ("https://a.example/v1/", "/x/", "https://a.example/v1/x/"),
        ("https://a.example/v1", "", "https://a.example/v1"),
        ("https://a.example", "/x?y=1", "https://a.example/x?y=1"),
        ("https://a.example?key=1", "/x?y=2", "https://a.example/x?key=1&y=2"),
        ("HTTP://A.Example:80", "/a b#c", "http://a.example/a%20b%23c"),
    ])
    func basePathAndQueryAreJoined(base: String, path: String, expected: String) throws {
        #expect(try url(base, path) == expected)
    }

    @Test func parametersAreEncodedInSortedOrder() throws {
        let parameters: RequestParameters = [
            "z": 1, "a": "x y&=", "m": .object(["d": [1, 2], "c": true]), "empty": .null, "ü": 1.5,
        ]
        #expect(
            try url("https://a.example", "/", .query(parameters))
                == "https://a.example/?a=x%20y%26%3D&m%5Bc%5D=true&m%5Bd%5D=1&m%5Bd%5D=2&z=1&%C3%BC=1.5"
        )
        let json = try JSONContentEncoder().encode(parameters)
        #expect(
            String(decoding: json, as: UTF8.self)
                == #"{"a":"x y&=","empty":null,"m":{"c":true,"d":[1,2]},"z":1,"ü":1.5}"#
        )
    }

    @Test func orderOfParametersDoesNotMatter() throws {
        let names = (0..<50).map { "p\($0)" }
        var random = SeededRandom(seed: 1)
        var expected: String?
        for _ in 0..<20 {
            var parameters = RequestParameters()
            for name in names.shuffled(using: &random) {
                parameters[name] = .object(RequestParameters(["b": 1, "a": .string(name)]))
            }
            let uri = try url("https://a.example", "/", .query(parameters))
            let content = String(decoding: try JSONContentEncoder().encode(parameters), as: UTF8.self)
            #expect(uri + content == expected ?? uri + content)
            expected = uri + content
        }
    }

    @Test func arraysAndBooleansFollowTheNamedConvention() throws {
        let parameters: RequestParameters = ["id": [1, 2], "on": true]
        #expect(
            try URLParameterEncoder(arrays: .brackets, booleans: .digits).query(parameters)
                == "id%5B%5D=1&id%5B%5D=2&on=1"
        )
        #expect(try URLParameterEncoder(arrays: .indexed).query(parameters) == "id%5B0%5D=1&id%5B1%5D=2&on=true")
    }

    @Test func numbersKeepAllTheirDigits() throws {
        let parameters: RequestParameters = ["a": .init(Int64.max), "b": .init(UInt64.max), "c": .init(Int64.min)]
        let text = String(decoding: try JSONContentEncoder().encode(parameters), as: UTF8.self)
        #expect(text == #"{"a":9223372036854775807,"b":18446744073709551615,"c":-9223372036854775808}"#)
    }

    /// As JSON, `1.0` would be `1`.
    @Test func numbersKeepAllTheirDigitsInAForm() throws {
        let inner: RequestParameters = ["f": .unsigned(.max), "g": .number(1)]
        var parameters: RequestParameters = ["a": .integer(.max), "b": .unsigned(.max), "c": .integer(.min)]
        parameters["d"] = .number(1)
        parameters["e"] = .object(inner)
        let text = String(decoding: try FormContentEncoder().encode(parameters), as: UTF8.self)
        let numbers = "a=9223372036854775807&b=18446744073709551615&c=-9223372036854775808&d=1.0"
        #expect(text == numbers + "&e%5Bf%5D=18446744073709551615&e%5Bg%5D=1.0")
    }

    @Test func exponentIsEscapedInAQuery() throws {
        #expect(try URLParameterEncoder().query(["x": 1e21]) == "x=1e%2B21")
    }

    @Test func unencodableValueIsAnError() {
        for number in [Double.nan, .infinity] {
            let parameters: RequestParameters = ["x": .number(number)]
            #expect(throws: HoldfastError.self) { try JSONContentEncoder().encode(parameters) }
            #expect(throws: HoldfastError.self) { try FormContentEncoder().encode(parameters) }
            #expect(throws: HoldfastError.self) { try URLParameterEncoder().query(parameters) }
        }
    }

    @Test func callFieldsAndParametersOverrideTheClients() throws {
        let defaults = RequestDefaults(
            fields: [.accept: "text/plain", .userAgent: "app"],
            parameters: ["key": "default", "api": 1]
        )
        var endpoint = PathEndpoint(baseURL: "https://a.example", path: "/", task: .query(["key": "own"]))
        endpoint.headers = [.accept: "application/json"]
        let request = try endpoint.request(defaults: defaults)
        #expect(
            request.head.headerFields[.accept] == "application/json" && request.head.headerFields[.userAgent] == "app"
        )
        #expect(request.head.path == "/?api=1&key=own")
    }

    @Test func contentTypeIsSetIfMissing() throws {
        var endpoint = PathEndpoint(baseURL: "https://a.example", path: "/", method: .post, task: .json(["a": 1]))
        #expect(try endpoint.request(defaults: .init()).head.headerFields[.contentType] == "application/json")
        endpoint.headers = [.contentType: "application/vnd.api+json"]
        #expect(try endpoint.request(defaults: .init()).head.headerFields[.contentType] == "application/vnd.api+json")
        endpoint.task = .parameters(body: ["a": 1], bodyEncoder: FormContentEncoder(), headers: [.accept: "x/y"])
        endpoint.headers = [:]
        let form = try endpoint.request(defaults: .init())
        #expect(form.head.headerFields[.contentType] == "application/x-www-form-urlencoded")
        #expect(form.head.headerFields[.accept] == "x/y")
    }

    @Test func queryAndParametersAreInTheKey() throws {
        func key(_ endpoint: PathEndpoint) throws -> StoreKey {
            let request = try endpoint.request(defaults: .init())
            return StoreKey(method: request.head.method, target: try #require(TargetURI(request: request.head)))
        }
        let base = "https://a.example"
        let inPath = try key(PathEndpoint(baseURL: base, path: "/x?a=1&b=2"))
        let asParameters = try key(PathEndpoint(baseURL: base, path: "/x", task: .query(["b": 2, "a": 1])))
        #expect(inPath == asParameters)
        #expect(try key(PathEndpoint(baseURL: base, path: "/x?a=1&b=3")) != inPath)
        #expect(try key(PathEndpoint(baseURL: base, path: "/x")) != inPath)
    }
}
