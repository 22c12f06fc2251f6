import Foundation
import HoldfastTesting
import Synchronization
import TestSupport
import Testing

@testable import Holdfast

/// A cookie jar in a client: cookies are credentials of one user.
@Suite(.timeLimit(.minutes(20))) struct CookieJarTests {
    private static let url = "https://a.example/"
    private static func endpoint(_ path: String) -> PathEndpoint {
        PathEndpoint(baseURL: "https://a.example", path: "/" + path)
    }

    private static func setting(_ cookies: String..., maxAge: Int? = nil, _ body: String = "ok")
        -> ScriptedTransport.Reply
    {
        var fields: HTTPFields = [:]
        for cookie in cookies { fields.append(HTTPField(name: .setCookie, value: cookie)) }
        if let maxAge { fields[.cacheControl] = "max-age=\(maxAge)" }
        return .ok(body, fields: fields)
    }

    /// The `Cookie` fields that were sent.
    private func sent(_ test: TestClient) -> [String?] {
        test.transport.requests.map { request in
            let values = request.headerFields[values: .cookie]
            return values.isEmpty ? nil : values.joined(separator: " | ")
        }
    }

    @Test func cookiesAreSentBackInOneField() async throws {
        try await withTestClient(.init(plugins: [CookieJar()])) { test in
            test.transport.script(
                Self.url + "login",
                Self.setting("sid=1; Secure; HttpOnly; Path=/", "lang=de; Path=/")
            )
            test.transport.script(Self.url + "feed", repeating: .ok("ok"))
            test.transport.script("https://b.example/feed", .ok("ok"))
            _ = try await test.client.fetch(Self.endpoint("login"), as: NoContent.self)
            _ = try await test.client.fetch(Self.endpoint("feed"), as: NoContent.self)
            let other = PathEndpoint(baseURL: "https://b.example", path: "/feed")
            _ = try await test.client.fetch(other, as: NoContent.self)
            #expect(sent(test) == [nil, "sid=1; lang=de", nil])
        }
    }

    @Test func cookiesOfRejectedResponsesAndOfMutationsAreKept() async throws {
        struct LogIn: Endpoint {
            let baseURL = "https://a.example"
            let path = "/login"
            let method = HTTPRequest.Method.post
        }
        let jar = CookieJar()
        try await withTestClient(.init(plugins: [jar])) { test in
            test.transport.script(
                Self.url + "login",
                .status(.unauthorized, fields: [.setCookie: "try=1"]),
                Self.setting("sid=1")
            )
            _ = try? await test.client.fetch(LogIn(), as: NoContent.self)
            #expect(jar.count == 1)
            _ = try await test.client.fetch(LogIn(), as: NoContent.self)
            #expect(jar.count == 2 && sent(test) == [nil, "try=1"])
        }
    }

    /// A log-in that ends with a redirect to the page, or to another origin.
    @Test func redirectsHaveTheCookiesOfTheirTargets() async throws {
        try await withTestClient(.init(plugins: [CookieJar()])) { test in
            test.transport.script(Self.url + "start", Self.setting("first=1; Path=/start"))
            test.transport.script("https://b.example/own", Self.setting("b=1; Path=/"))
            let own = PathEndpoint(baseURL: "https://b.example", path: "/own")
            _ = try await test.client.fetch(Self.endpoint("start"), as: NoContent.self)
            _ = try await test.client.fetch(own, as: NoContent.self)
            test.transport.script(
                Self.url + "start",
                .redirect(303, to: "/page", [.setCookie: "sid=1; Path=/"])
            )
            test.transport.script(Self.url + "page", .redirect(302, to: "https://b.example/page"))
            test.transport.script("https://b.example/page", .ok("ok"))
            _ = try await test.client.fetch(Self.endpoint("start"), as: NoContent.self)
            #expect(sent(test) == [nil, nil, "first=1", "sid=1", "b=1"])
        }
    }

    @Test func requestWithACookieOfItsOwnGetsNoneOfTheJars() async throws {
        try await withTestClient(.init(plugins: [CookieJar()])) { test in
            test.transport.script(Self.url + "a", repeating: Self.setting("sid=1"))
            var endpoint = Self.endpoint("a")
            _ = try await test.client.fetch(endpoint, as: NoContent.self)
            endpoint.headers = [.cookie: "own=1"]
            _ = try await test.client.fetch(endpoint, as: NoContent.self)
            #expect(sent(test) == [nil, "own=1"])
        }
    }

    /// Thirty users, each with a jar of its own, on one client and one store.
    @Test func responseFetchedWithOneUsersCookiesServesNoOther() async throws {
        try await withTestClient { test in
            // Each user's response is stored, and is fresh for a day.
            test.transport.script(Self.url + "me") { request in
                Self.setting(maxAge: 86_400, "of \(request.head.headerFields[.cookie] ?? "nobody")")
            }
            let jars = (0..<30).map { _ in CookieJar() }
            let fetch = { @Sendable (number: Int, path: String) in
                try await test.client.call(Self.endpoint(path)).with { $0.plugins = [jars[number]] }.fetch().value
            }
            for number in 0..<30 {
                test.transport.script(Self.url + "login", Self.setting("sid=\(number)"))
                _ = try await fetch(number, "login")
            }
            for mode in [OfflineMode.automatic, .automatic, .preferStored, .offline] {
                test.client.mode = mode
                try await withThrowingTaskGroup(of: (Int, String).self) { group in
                    for number in 0..<30 { group.addTask { (number, try await fetch(number, "me")) } }
                    for try await (number, value) in group { #expect(value == "of sid=\(number)", "\(mode)") }
                }
            }
            // The store served all but the first round.
            #expect(test.transport.requests.count == 60)
            // A user without cookies, and one with others, find nothing.
            for cookie in ["", "sid=1; x=1", "sid=30"] {
                var endpoint = Self.endpoint("me")
                if !cookie.isEmpty { endpoint.headers = [.cookie: cookie] }
                await expect(.offlineMiss) { _ = try await test.client.fetch(endpoint) }
            }
        }
    }

    @Test func namedPrincipalKeepsResponsesWhenCookiesChange() async throws {
        for principal in [nil, "ada"] {
            var configuration = CachingClient.Configuration(plugins: [CookieJar()])
            configuration.defaults.principal = principal
            try await withTestClient(configuration) { test in
                test.transport.script(Self.url + "login", Self.setting("sid=1"), Self.setting("sid=2"))
                test.transport.script(Self.url + "me", repeating: Self.setting(maxAge: 60, "ada's"))
                _ = try await test.client.fetch(Self.endpoint("login"))
                _ = try await test.client.fetch(Self.endpoint("me"))
                _ = try await test.client.fetch(Self.endpoint("login"), .networkOnly)
                test.client.mode = .offline
                let emission = try? await test.client.fetch(Self.endpoint("me"))
                #expect(emission?.value == (principal == nil ? nil : "ada's"))
            }
        }
    }

    @Test func storedResponseSetsNoCookie() async throws {
        try await withTestClient(.init(plugins: [CookieJar()])) { test in
            test.transport.script(Self.url + "a", Self.setting("n=1; Path=/", maxAge: 3600))
            test.transport.script(Self.url + "b", Self.setting("n=2; Path=/"))
            test.transport.script(Self.url + "c", .ok("ok"))
            var configured = Self.endpoint("a")
            configured.headers = [.cookie: "own=1"]
            _ = try await test.client.fetch(configured)
            _ = try await test.client.fetch(Self.endpoint("b"))
            let stored = try await test.client.fetch(configured)
            #expect(stored.source == .store)
            _ = try await test.client.fetch(Self.endpoint("c"))
            #expect(sent(test) == ["own=1", "n=1", "n=2"])
        }
    }

    /// Otherwise the next user would have the session of the one who left.
    @Test func responsesUnderWaySetNoCookieAfterRemoval() async throws {
        let jar = CookieJar()
        try await withTestClient(.init(plugins: [jar])) { test in
            let arrived = Atomic(0)
            let gate = Gate()
            for number in 0..<30 {
                test.transport.script(Self.url + "late/\(number)") { _ in
                    arrived.add(1, ordering: .sequentiallyConsistent)
                    try await gate.wait()
                    return Self.setting("sid=ada; Path=/")
                }
            }
            test.transport.script(Self.url + "next", repeating: Self.setting("sid=bob; Path=/"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<30 {
                    group.addTask { _ = try await test.client.fetch(Self.endpoint("late/\(number)")) }
                }
                while arrived.load(ordering: .sequentiallyConsistent) < 30, !Task.isCancelled { await Task.yield() }
                jar.removeAll()
                gate.open()
                try await group.waitForAll()
            }
            #expect(jar.count == 0)
            _ = try await test.client.fetch(Self.endpoint("next"), .networkOnly)
            _ = try await test.client.fetch(Self.endpoint("next"), .networkOnly)
            #expect(sent(test).suffix(2) == [nil, "sid=bob"])
        }
    }

    @Test func logsShowNoCookie() async throws {
        let log = CapturedLog()
        for form in [NetworkLogger.Form.text, .curl, .metadata] {
            let plugins: [any Plugin] = [CookieJar(), NetworkLogger(log.logger(), .init(form: form))]
            try await withTestClient(.init(plugins: plugins), logger: log.logger()) { test in
                test.transport.script(Self.url + "a", repeating: Self.setting("sid=hunter2"))
                _ = try await test.client.fetch(Self.endpoint("a"), .networkOnly)
                _ = try await test.client.fetch(Self.endpoint("a"), .networkOnly)
                #expect(sent(test).last == "sid=hunter2")
            }
        }
        #expect(log.text.lowercased().contains("cookie"))
        #expect(!log.text.contains("hunter2"))
    }
}
