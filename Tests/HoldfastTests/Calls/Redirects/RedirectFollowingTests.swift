import Foundation
import HoldfastTesting
import TestSupport
import Testing

@testable import Holdfast

/// Which redirects a call follows, and how it fails.
@Suite(.timeLimit(.minutes(20))) struct RedirectFollowingTests {
    private func failure(_ fixture: ScriptedClient, _ endpoint: Moving, _ strategy: SingleValueStrategy = .standard)
        async -> HoldfastError?
    {
        do {
            _ = try await fixture.client.fetch(endpoint, strategy)
            Issue.record("The call succeeded.")
            return nil
        } catch {
            return error
        }
    }

    @Test func acceptedStatusIsTheResponse() async throws {
        try await ScriptedClient.run { fixture in
            fixture.always("/from", .redirect(to: "/to"))
            let emission = try await fixture.client.fetch(Moving(acceptedStatuses: [200, 302]))
            #expect(emission.status == .found && emission.fields[.location] == "/to")
            #expect(fixture.paths() == ["/from"])
        }
    }

    @Test func policyNeverRejectsTheRedirect() async throws {
        try await ScriptedClient.run { fixture in
            fixture.always("/from", .redirect(to: "/to"))
            let error = await failure(fixture, Moving(redirects: .never))
            #expect(error?.code == .status && error?.status == .found)
            #expect(error?.message.contains("'redirects'") == true && fixture.paths() == ["/from"])
        }
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .patch, .delete])
    func mutationIsFollowedOnlyIfAsked(method: HTTPRequest.Method) async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.always("/from", .redirect(307, to: "/to"))
            fixture.always("/to", .ok("done"))
            #expect(await failure(fixture, Moving(method: method))?.status == .temporaryRedirect)
            #expect(fixture.paths() == ["/from"])
            #expect(try await fixture.client.fetch(Moving(method: method, redirects: .always)).value == "done")
            #expect(fixture.transport.requests.last?.method == method)
        }
    }

    /// A POST that reads has its content in the key, at each hop.
    @Test func postThatReadsIsRedirectedAndStored() async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.always("/from", .redirect(308, to: "/to"))
            fixture.transport.script(ScriptedClient.url + "/to") { request in .ok("found \(request.text ?? "")") }
            func search(_ text: String) -> Moving {
                Moving(
                    method: .post,
                    task: .data(Data(text.utf8), contentType: "text/plain"),
                    storage: .expiring(.after(.seconds(60)))
                )
            }
            #expect(try await fixture.client.fetch(search("a")).value == "found a")
            #expect(try await fixture.client.fetch(search("b")).value == "found b")
            fixture.client.mode = .offline
            #expect(try await fixture.client.fetch(search("a")).value == "found a")
            #expect(fixture.paths() == ["/from", "/to", "/from", "/to"])
        }
    }

    @Test func loopIsNamedWithoutQueries() async throws {
        try await ScriptedClient.run { fixture in
            fixture.always("/from", .redirect(to: "/b?token=hidden-value"))
            fixture.always("/b?token=hidden-value", .redirect(to: "/from"))
            let error = await failure(fixture, Moving())
            #expect(error?.code == .redirectFailed && error?.status == .found)
            #expect(
                error?.message.hasSuffix(
                    "are a loop. The request was redirected: 'https://a.example/from' → 'https://a.example/b?REDACTED'."
                ) == true,
                "\(error?.message ?? "")"
            )
        }
    }

    @Test func eleventhRedirectFails() async throws {
        try await ScriptedClient.run { fixture async throws in
            for number in 0...11 { fixture.always("/\(number)", .redirect(301, to: "/\(number + 1)")) }
            let error = await failure(fixture, Moving(path: "/0"))
            #expect(error?.code == .redirectFailed && error?.message.contains("limit of 10 redirects") == true)
            #expect(fixture.paths() == (0...10).map { "/\($0)" })
            fixture.always("/12", .ok("end"))
            #expect(try await fixture.client.fetch(Moving(path: "/2")).value == "end")
        }
    }

    @Test(arguments: ["http://a.example/to", "ftp://a.example/to", "https://me:secret-value@a.example/to", "/%00"])
    func unusableLocationFails(location: String) async throws {
        try await ScriptedClient.run { fixture in
            fixture.always("/from", .redirect(to: location))
            let error = await failure(fixture, Moving())
            #expect(error?.code == .redirectFailed && fixture.paths() == ["/from"])
            #expect(error.map { !"\($0)".contains("secret-value") } == true)
        }
    }

    @Test func rejectedStatusAtTheEndNamesTheHops() async throws {
        try await ScriptedClient.run { fixture in
            fixture.always("/from", .redirect(to: "https://b.example/to?key=secret-value"))
            fixture.always("https://b.example/to?key=secret-value", .status(.notFound, "gone"))
            let error = await failure(fixture, Moving())
            #expect(error?.code == .status && error?.status == .notFound && error?.body == Array("gone".utf8))
            #expect(error?.message.contains("'https://b.example/to?REDACTED'") == true)
        }
    }

    /// A hop is retried, and the others are not sent again.
    @Test(arguments: [1, 2]) func limitCountsTheRetriesOfAllHops(limit: Int) async throws {
        var configuration = CachingClient.Configuration()
        configuration.retry = RetryPlan(limit: limit, delay: .zero)
        try await ScriptedClient.run(configuration) { fixture async throws in
            fixture.script("/from", .status(.serviceUnavailable), .redirect(to: "/to"))
            fixture.script("/to", .status(.serviceUnavailable), .ok("value"))
            let value = try? await fixture.client.fetch(Moving()).value
            #expect(value == (limit == 2 ? "value" : nil))
            #expect(fixture.paths() == ["/from", "/from", "/to"] + (limit == 2 ? ["/to"] : []))
        }
    }

    @Test func timeoutCoversAllHops() async throws {
        let sleeper = ManualDurationClock()
        try await ScriptedClient.run(sleeper: sleeper) { fixture in
            let gate = Gate()
            fixture.always("/from", .redirect(to: "/to"))
            fixture.script("/to", .ok("late", beforeHead: gate))
            async let code = failure(fixture, Moving(timeout: .seconds(5)))?.code
            await fixture.transport.waitForRequests(2)
            await sleeper.waitForDeadline(.seconds(5))
            sleeper.advance(by: .seconds(5))
            #expect(await code == .timeout)
            gate.open()
        }
    }

    @Test func pluginsPrepareTheFirstHopAndObserveAll() async throws {
        let events = Events()
        try await ScriptedClient.run(.init(plugins: [RecordingPlugin(events: events)])) { fixture async throws in
            fixture.always("/from", .redirect(to: "/to"))
            fixture.always("/to", .ok("value"))
            #expect(try await fixture.client.fetch(Moving(), .networkOnly).value == "value")
            #expect(
                events.all == [
                    "prepare network 1.0", "willSend 1.0", "didReceive 302 1.0", "willSend 1.0", "didReceive 200 1.0",
                    "process 200",
                ]
            )
        }
    }

    @Test(arguments: ["https://a.example", "https://b.example"])
    func tokenGoesToNoOtherOrigin(host: String) async throws {
        // Without named origins, a token goes to each endpoint's own origin.
        let authenticator = try TokenAuthenticator(ScriptedTokens(), token: AccessToken("one"), principal: "ada")
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture async throws in
            fixture.always("/from", .redirect(307, to: host + "/to", maxAge: 60))
            fixture.always(host + "/to", .fresh("hers"))
            #expect(try await fixture.client.fetch(Moving()).value == "hers")
            let isSame = host == ScriptedClient.url
            #expect(fixture.sent(.authorization) == ["Bearer one", isSame ? "Bearer one" : nil])
            // The response at its end is hers alone.
            authenticator.signIn(AccessToken("two"), as: "bob")
            fixture.client.mode = .offline
            #expect(await failure(fixture, Moving())?.code == .offlineMiss)
            authenticator.signIn(AccessToken("three"), as: "ada")
            #expect(try await fixture.client.fetch(Moving()).value == "hers")
        }
    }

    @Test func expiredTokenIsReplacedAfterARedirect() async throws {
        let tokens = ScriptedTokens("two")
        let authenticator = try TokenAuthenticator(tokens, token: AccessToken("one"), principal: "ada")
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture async throws in
            fixture.always("/from", .redirect(to: "/to"))
            fixture.script("/to", .status(.unauthorized), .ok("value"))
            #expect(try await fixture.client.fetch(Moving()).value == "value")
            #expect(tokens.asked == ["one"] && fixture.paths() == ["/from", "/to", "/from", "/to"])
            let sent = ["one", "one", "two", "two"].map { "Bearer \($0)" }
            #expect(fixture.sent(.authorization) == sent)
        }
    }

    @Test func logListsTheHopsWithoutQueries() async throws {
        let log = CapturedLog()
        try await ScriptedClient.run(logger: log.logger(.debug)) { fixture async throws in
            fixture.always("/from?name=hidden-value", .redirect(to: "https://b.example/to?name=hidden-value"))
            fixture.always("https://b.example/to?name=hidden-value", .ok("value"))
            #expect(try await fixture.client.fetch(Moving(path: "/from?name=hidden-value")).value == "value")
            let lines = log.lines.filter { $0.hasPrefix("Following a redirect") }
            #expect(
                lines == [
                    "Following a redirect cache.source=network call.number=1 http.status=302 "
                        + "http.url=https://a.example/from?REDACTED redirect.number=1 "
                        + "redirect.url=https://b.example/to?REDACTED"
                ]
            )
        }
    }

    @Test func mutationInvalidatesBeforeItsResultIsRead() async throws {
        try await ScriptedClient.run { fixture in
            fixture.always("/list", .fresh("list"))
            _ = try await fixture.client.fetch(Moving(path: "/list"))
            fixture.always("/items", .redirect(303, to: "/items/1"))
            fixture.always("/items/1", .status(.internalServerError))
            let create = Moving(
                path: "/items",
                method: .post,
                invalidates: [.endpoint(Moving(path: "/list"))],
                redirects: .always
            )
            #expect(await failure(fixture, create)?.status == .internalServerError)
            #expect(try await fixture.client.stored(Moving(path: "/list"))?.isStale == true)
            #expect(fixture.transport.requests.suffix(2).map(\.method) == [.post, .get])
        }
    }

    @Test func wrappedAndShortRequestsFollowToo() async throws {
        try await ScriptedClient.run { fixture in
            fixture.always("/from", .redirect(to: "/to"))
            fixture.always("/to", .ok("1"))
            let wrapped = try await fixture.client.fetch(AnyEndpoint(Moving())).value
            #expect(String(decoding: wrapped, as: UTF8.self) == "1")
            #expect(try await fixture.client.get(ScriptedClient.url + "/from", as: Int.self).value == 1)
            var never = AdHocRequest<Int>(ScriptedClient.url + "/from")
            never.redirects = .never
            await expect(.status) { _ = try await fixture.client.fetch(AnyEndpoint(never)) }
        }
    }

    @Test func rawRequestIsNotFollowed() async throws {
        try await ScriptedClient.run { fixture in
            fixture.always("/from", .redirect(to: "/to"))
            let request = try fixture.client.request(for: Moving())
            #expect(try await fixture.client.respond(to: request).head.status == .found)
        }
    }
}
