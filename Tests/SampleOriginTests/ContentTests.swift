import Crypto
import Foundation
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct ContentTests {
    @Test(arguments: [
        ("de", "Guten Tag"), ("de-AT, en;q=0.5", "Guten Tag"), ("en;q=0.5, fr", "Bonjour"), ("sv", "Good day"),
        ("fr;q=0, de;q=0.1", "Guten Tag"), ("", "Good day"),
    ])
    func greetingVariesByLanguage(accepted: String, text: String) async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.get("/greeting", fields: [("Accept-Language", accepted)], to: $0)
        }
        #expect(response.text == text + "\n")
        #expect(response["Vary"] == "Accept-Language")
    }

    @Test(arguments: [0, 1, 7, 8, 65_535, 65_536, 65_537, 1_000_003])
    func bytesAreDeterministic(count: Int) async throws {
        let response = try await SampleOrigin.withOrigin { try await RawClient.get("/bytes/\(count)?seed=3", to: $0) }
        #expect(response["Content-Length"] == "\(count)")
        #expect(response.body == DeterministicBytes(seed: 3).bytes(0..<Int64(count)))
    }

    @Test func bytesAtOffsetMatchWholeBody() {
        let whole = DeterministicBytes(seed: 1).bytes(0..<100)
        #expect(DeterministicBytes(seed: 1).bytes(13..<57) == Array(whole[13..<57]))
        #expect(DeterministicBytes(seed: 2).bytes(0..<100) != whole)
    }

    @Test func bytesWithoutLengthAreChunked() async throws {
        let response = try await SampleOrigin.withOrigin { try await RawClient.get("/bytes/5?chunked=true", to: $0) }
        #expect(response["Transfer-Encoding"] == "chunked")
        #expect(response["Content-Length"] == nil)
        var expected = Array("5\r\n".utf8)
        expected += DeterministicBytes().bytes(0..<5)
        expected += Array("\r\n0\r\n\r\n".utf8)
        #expect(response.body == expected)
    }

    @Test(arguments: [
        ("/no-store", "no-store"), ("/private", "private, max-age=60"),
        ("/must-revalidate", "max-age=60, must-revalidate"), ("/no-cache", "no-cache"),
        ("/stale-if-error", "max-age=60, stale-if-error=600"),
    ])
    func freshnessRoutesSendNamedDirective(path: String, cacheControl: String) async throws {
        let response = try await SampleOrigin.withOrigin { try await RawClient.get(path, to: $0) }
        #expect(response.status == 200)
        #expect(response["Cache-Control"] == cacheControl)
    }

    @Test func heuristicHasNoLifetimeAndUncacheableVariesOnAll() async throws {
        try await SampleOrigin.withOrigin { origin in
            let heuristic = try await RawClient.get("/heuristic", to: origin)
            #expect(heuristic["Cache-Control"] == nil)
            #expect(heuristic["Last-Modified"] != nil)
            #expect(try await RawClient.get("/uncacheable", to: origin)["Vary"] == "*")
        }
    }

    @Test func counterCountsRequests() async throws {
        try await SampleOrigin.withOrigin { origin in
            #expect(try await RawClient.get("/counter", to: origin).text == #"{"request":1}"#)
            let second = try await RawClient.get("/counter?max-age=0", to: origin)
            #expect(second.text == #"{"request":2}"#)
            #expect(second["Cache-Control"] == "max-age=0")
        }
    }

    @Test func respondBuildsResponseFromQuery() async throws {
        let target =
            "/respond?status=203&field=Cache-Control:%20max-age%3D5&field=X-A:1&field=X-A:2"
            + "&field=Content-Type:text/plain&body=a%26b"
        try await SampleOrigin.withOrigin { origin in
            let response = try await RawClient.get(target, to: origin)
            #expect(response.status == 203)
            #expect(response["Cache-Control"] == "max-age=5")
            #expect(response.fields.filter { $0.name == "X-A" }.map(\.value) == ["1", "2"])
            #expect(response.fields.filter { $0.name == "Content-Type" }.map(\.value) == ["text/plain"])
            #expect(response.text == "a&b")
            for wrong in ["nonsense", "Content-Length:3", "X-A:%0D%0AX-B:1", "%20:x"] {
                #expect(try await RawClient.get("/respond?field=\(wrong)", to: origin).status == 400, "\(wrong)")
            }
        }
    }

    @Test(arguments: [(204, nil), (205, "0"), (304, nil)] as [(Int, String?)])
    func respondHasNoContentIfTheStatusAllowsNone(code: Int, length: String?) async throws {
        try await SampleOrigin.withOrigin { origin in
            for more in ["", "&body=x"] {
                let target = "/respond?status=\(code)&field=X-A:1\(more)"
                let response = try await RawClient.get(target, to: origin)
                #expect(response.status == code && response["X-A"] == "1" && response.text.isEmpty, "\(response)")
                #expect(response["Content-Length"] == length && response["Content-Type"] == nil, "\(response)")
            }
        }
    }

    @Test func echoReturnsRequestAsReceived() async throws {
        struct Echo: Decodable {
            struct Body: Decodable {
                let length: Int
                let sha256: String
            }
            let method, target: String
            let fields: [[String]]
            let body: Body
        }
        try await SampleOrigin.withOrigin { origin in
            for target in ["/echo/a|b%zz%2F//x?q=%7C|%7c&&=&a+b", "http://other.example:1/echo/%41?x"] {
                let raw =
                    "PUT \(target) HTTP/1.1\r\nX-First: 1\r\nhOST: a.example\r\nCookie: a=1; b=2\r\nX-Twice: 1\r\n"
                    + "x-twice: 2\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
                let response = try await RawClient.send(raw: raw, to: origin)
                #expect(response.status == 200)
                let echo = try JSONDecoder().decode(Echo.self, from: Data(response.body))
                #expect(echo.method == "PUT")
                #expect(echo.target == target)
                #expect(
                    echo.fields == [
                        ["X-First", "1"], ["hOST", "a.example"], ["Cookie", "a=1; b=2"], ["X-Twice", "1"],
                        ["x-twice", "2"], ["Connection", "close"], ["Content-Length", "3"],
                    ]
                )
                #expect(echo.body.length == 3)
                #expect(echo.body.sha256 == SHA256.hash(data: Data("abc".utf8)).map { Self.hex($0) }.joined())
                #expect(origin.requests.last?.target == target)
                #expect(origin.requests.last?["cookie"] == "a=1; b=2")
                #expect(origin.requests.last?["X-Twice"] == "1, 2")
            }
        }
    }

    private static func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}
