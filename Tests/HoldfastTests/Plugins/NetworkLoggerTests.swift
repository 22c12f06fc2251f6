import Foundation
import HTTPTypes
import HoldfastTesting
import NIOCore
import TestSupport
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct NetworkLoggerTests {
    static let tenant = HTTPField.Name("X-Tenant") ?? .cookie
    static let secrets = Secrets(parameters: ["appid"], fields: [tenant])

    @Test(arguments: [NetworkLogger.Form.metadata, .text, .curl])
    func noSecretIsLogged(form: NetworkLogger.Form) async throws {
        let log = CapturedLog()
        let options = NetworkLogger.Options(form: form, showsFields: true, contentLimit: 10_000)
        let configuration = CachingClient.Configuration(
            defaults: RequestDefaults(parameters: ["appid": "SECRET-default"], secrets: Self.secrets),
            plugins: [NetworkLogger(log.logger(), options)]
        )
        try await ScriptedClient.run(configuration) { fixture in
            let query = "api_key=SECRET-a&t%6Fken=SECRET-b&%61ppid=SECRET-c&AppID%5Bx%5D=SECRET-d&page=2"
            let content =
                #"{"password":"SECRET-e","in":{"appid":["SECRET-f",{"a":"SECRET-g"}]},"p\u0061ss":"SECRET-h","#
                + #""name":"harbour","key":SECRET-i}"#
            let endpoint = PathEndpoint(
                baseURL: ScriptedClient.url,
                path: "/login?\(query)",
                method: .post,
                task: .data(Data(content.utf8), contentType: "application/json; charset=utf-8"),
                headers: [.authorization: "Bearer SECRET-j", .cookie: "sid=SECRET-k", Self.tenant: "SECRET-l"]
            )
            let reply = ScriptedTransport.Reply.status(
                .created,
                #"{"token":"SECRET-m","echo":["SECRET-j","SECRET-c"],"city":"Kiel"}"#,
                fields: [
                    .contentType: "application/json", .setCookie: "sid=SECRET-n; Path=/",
                    .location: "/x?appid=SECRET-o&page=3", HTTPField.Name("X-Echo")!: "was Bearer SECRET-j",
                ]
            )
            fixture.script("/login?\(query)&appid=SECRET-default", reply)
            _ = try await fixture.client.fetch(endpoint, .networkOnly)
        }
        #expect(!log.text.contains("SECRET-"), "\(log.text)")
        for shown in ["POST", "a.example/login?", "page=2", "harbour", "201", "Kiel", "page=3", "REDACTED"] {
            #expect(log.text.contains(shown), "\(shown): \(log.text)")
        }
        #expect(log.lines.count == 3)
    }

    @Test func fieldsAndContentAreLoggedOnlyOnRequest() async throws {
        let log = CapturedLog()
        try await ScriptedClient.run(.init(plugins: [NetworkLogger(log.logger())])) { fixture in
            fixture.script("/x", .ok("the content", fields: [.server: "harbour"]))
            let endpoint = PathEndpoint(
                baseURL: ScriptedClient.url,
                path: "/x",
                method: .put,
                task: .data(Data("what is sent".utf8), contentType: "text/plain"),
                headers: [.accept: "text/css"]
            )
            _ = try await fixture.client.fetch(endpoint)
        }
        for hidden in ["the content", "harbour", "what is sent", "css"] { #expect(!log.text.contains(hidden)) }
        #expect(log.lines.first?.hasPrefix("Request sent call.number=") == true)
        #expect(log.lines.first?.contains("http.request.body.size=12") == true)
        #expect(log.lines.last?.contains("http.response.body.size=11") == true)
    }

    @Test func messagesBelowTheLevelAreNotMade() async throws {
        let log = CapturedLog()
        let plugin = NetworkLogger(log.logger(.info), .init(level: .debug, contentLimit: 100))
        #expect(plugin.contentLimit == 0)
        try await ScriptedClient.run(.init(plugins: [plugin])) { fixture in
            fixture.script("/x", .ok("a"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
        }
        #expect(log.lines.isEmpty)
    }

    @Test func durationsAreThoseOfTheClock() async throws {
        let log = CapturedLog()
        try await ScriptedClient.run(.init(plugins: [NetworkLogger(log.logger())])) { fixture in
            let gate = Gate()
            fixture.script("/x", .ok("a", beforeHead: gate))
            async let fetched = fixture.client.fetch(fixture.get("/x"))
            await fixture.transport.waitForRequests(1)
            fixture.sleeper.advance(by: .microseconds(120_340))
            gate.open()
            _ = try await fetched
        }
        #expect(log.lines.contains { $0.hasPrefix("Response received") && $0.contains("http.duration.ms=120.3 ") })
    }

    @Test func storedResponsesAreNotLogged() async throws {
        let log = CapturedLog()
        try await ScriptedClient.run(.init(plugins: [NetworkLogger(log.logger())])) { fixture in
            fixture.script("/x", .ok("a", fields: [.cacheControl: "max-age=60"]))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            let count = log.lines.count
            #expect(try await fixture.client.fetch(fixture.get("/x")).source == .store)
            #expect(log.lines.count == count && count == 3)
        }
    }

    @Test func failuresAreLoggedWithTheirOwnText() async throws {
        let log = CapturedLog()
        let plugin = NetworkLogger(log.logger(), .init(form: .text))
        try await ScriptedClient.run(.init(plugins: [plugin])) { fixture in
            fixture.script("/x", .failure(.connect))
            await expect(.originUnreachable) { _ = try await fixture.client.fetch(fixture.get("/x"), .networkOnly) }
            let broken = TransportError(code: .connectionClosed, message: "Gone: https://b.example/?token=SECRET-a")
            fixture.script(
                "/y",
                .init(head: .init(status: .ok), chunks: [ByteBuffer(string: "abc")], ending: .brokenOff(broken))
            )
            await expect(.truncated) { _ = try await fixture.client.fetch(fixture.get("/y"), .networkOnly) }
        }
        #expect(log.text.contains("✕ GET https://a.example/x") && log.text.contains("error=connect:"))
        #expect(log.text.contains("⇤ GET https://a.example/y") && log.text.contains("http.response.body.size=3"))
        #expect(log.text.contains("error=connectionClosed:") && !log.text.contains("SECRET"))
    }

    @Test func contentOfSeveralLinesIsLoggedAsOne() async throws {
        let log = CapturedLog()
        let plugin = NetworkLogger(log.logger(), .init(form: .text, contentLimit: 100))
        try await ScriptedClient.run(.init(plugins: [plugin])) { fixture in
            fixture.script("/x", .ok("a\n← GET forged\u{1b}[31m\u{202e}", fields: [.contentType: "text/plain"]))
            _ = try await fixture.client.fetch(fixture.get("/x"))
        }
        #expect(log.lines.allSatisfy { !$0.contains("\n") && !$0.contains("\u{1b}") && !$0.contains("\u{202e}") })
    }
}

@Suite(.timeLimit(.minutes(20))) struct SecretRedactionTests {
    private let redaction = SecretRedaction(NetworkLoggerTests.secrets)

    @Test(arguments: [
        ("https://user:S1@a.example/x", "S1"), ("https://a.example/?appid=S1", "S1"),
        ("https://a.example/?%41%70pid=S1", "S1"), ("https://a.example/?q=1;appid=S1#appid=S2", "S1"),
        ("https://a.example/?q[appid]=S1", "S1"), ("https://a.example/?appid%5B0%5D=S1", "S1"),
        ("https://a.example/?APPID=a=S1", "S1"), ("https://a.example/??appid=S1", "S1"),
        ("https://a.example/?x=1&password=S1", "S1"), ("//a.example?%20appid=S1", "S1"),
    ])
    func secretIsFoundInAnySpelling(text: String, secret: String) {
        #expect(!redaction.uri(text).contains(secret), "\(redaction.uri(text))")
    }

    @Test func otherTextStaysUnchanged() {
        let text = "https://a.example/a%2Fb?q=%zz&page=2&&x=;y#top"
        #expect(redaction.uri(text) == text)
        let json = #"{"a":[1,2.50,"b\"c"],"d":{"e":null}, "f" : true}"#
        #expect(redaction.json(Array(json.utf8)) == Array(json.utf8))
    }

    @Test func cutJSONShowsNoSecret() {
        let json = Array(
            #"{"appid" : "S3CRET\"S3CRET","x":{"token":{"a":["S3CRET"]},"b":1},"pin":S3CRET,"z":"end"}"#.utf8
        )
        for length in 0...json.count {
            let shown = String(decoding: redaction.json(Array(json.prefix(length))), as: UTF8.self)
            #expect(!shown.contains("S3C"), "\(shown)")
        }
        let whole = String(decoding: redaction.json(json), as: UTF8.self)
        #expect(whole == #"{"appid" : "REDACTED","x":{"token":"REDACTED","b":1},"pin":"REDACTED","z":"end"}"#)
    }

    @Test func secretCutByTheLimitIsNotShown() {
        let secret = Array("S3CRETVALUE".utf8)
        let text = Array("before S3CRETVALUE".utf8)
        for length in 0...text.count {
            let shown = ShownContent(
                Array(text.prefix(length)),
                isWhole: false,
                fields: [.contentType: "text/plain"],
                redaction: redaction,
                secrets: [secret]
            )
            #expect(shown.line?.contains("S3") != true, "\(shown)")
        }
    }
}
