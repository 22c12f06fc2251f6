import SampleOrigin
import Testing

/// Statuses and retries.
@Suite(.timeLimit(.minutes(20)))
struct StatusTests {
    @Test(arguments: [200, 201, 204, 205, 304, 400, 401, 404, 405, 407, 410, 418, 426, 429, 500, 503, 599])
    func returnsAnyStatus(code: Int) async throws {
        try await SampleOrigin.withOrigin { origin in
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                let response = try await RawClient.send(method, "/status/\(code)", to: origin)
                #expect(response.status == code)
                #expect(response.text == ([204, 205, 304].contains(code) ? "" : "{\"status\":\(code)}"))
            }
        }
    }

    @Test(
        arguments: [
            (204, "Content-Length", nil), (205, "Content-Length", "0"), (302, "Location", "/counter"),
            (401, "WWW-Authenticate", "Bearer realm=\"sample-origin\""), (405, "Allow", "OPTIONS"),
            (426, "Upgrade", "HTTP/2.0"),
        ] as [(Int, String, String?)]
    )
    func statusHasTheFieldItMustHave(code: Int, name: String, value: String?) async throws {
        let response = try await SampleOrigin.withOrigin { try await RawClient.get("/status/\(code)", to: $0) }
        #expect(response[name] == value)
    }

    @Test func bodyIsTheRequestedOneEvenEmpty() async throws {
        try await SampleOrigin.withOrigin { origin in
            #expect(try await RawClient.get("/status/410?body=gone%21", to: origin).text == "gone!")
            let empty = try await RawClient.get("/status/200?body=", to: origin)
            #expect(empty.status == 200)
            #expect(empty["Content-Length"] == "0")
            for target in ["/status/199", "/status/600", "/status/ok"] {
                #expect(try await RawClient.get(target, to: origin).status == 400)
            }
        }
    }

    @Test func flakyKeyFailsRequestedTimesThenSucceeds() async throws {
        try await SampleOrigin.withOrigin { origin in
            let target = "/flaky/a?fail=2&status=429&retry-after=7"
            for method in ["GET", "POST"] {
                let response = try await RawClient.send(method, target, to: origin)
                #expect(response.status == 429)
                #expect(response["Retry-After"] == "7")
            }
            let last = try await RawClient.get(target, to: origin)
            #expect(last.status == 200)
            #expect(last["Retry-After"] == nil)
            #expect(try await RawClient.get("/flaky/b?fail=1", to: origin).status == 503)
        }
    }

    @Test func retryAfterIsADateOnTheOriginsClock() async throws {
        try await SampleOrigin.withOrigin(OriginConfiguration(date: { 784_111_770 })) { origin in
            for target in ["/flaky/a?status=429&retry-after=7&as=date", "/failing?retry-after=7&as=date"] {
                let response = try await RawClient.get(target, to: origin)
                #expect(response["Retry-After"] == "Sun, 06 Nov 1994 08:49:37 GMT")
                #expect(response["Date"] == "Sun, 06 Nov 1994 08:49:30 GMT")
            }
        }
    }
}
