import Foundation
import Holdfast
import HoldfastTesting
import TestSupport
import Testing

/// Redirects together with what else an application uses.
@Suite(.timeLimit(.minutes(20))) struct RedirectScenarioTests {
    private static let other = "https://b.example"

    private func fields(_ fixture: ScriptedClient, _ number: Int) -> HTTPFields {
        fixture.transport.requests[number].headerFields
    }

    @Test(arguments: [
        ("?page=2", "/a/from?page=2"), ("to#part", "/a/to"), ("../to?x=%2F", "/to?x=%2F"), ("./b/./to", "/a/b/to"),
        ("/to", "/to"), ("//b.example/to", "b.example/to"), ("https://a.example", "/"),
        ("HTTPS://A.EXAMPLE:443/to", "/to"),
    ])
    func locationMayBeAnyReference(location: String, target: String) async throws {
        try await ScriptedClient.run { fixture async throws in
            let url = target.hasPrefix("/") ? ScriptedClient.url + target : "https://" + target
            fixture.always("/a/from", .redirect(to: location))
            fixture.always(url, .fresh("value"))
            #expect(try await fixture.client.fetch(Moving(path: "/a/from")).value == "value")
            #expect(fixture.paths() == ["/a/from", target])
        }
    }

    /// A token, cookies, a default field and an endpoint's own secret, on a way out and back.
    @Test(arguments: [301, 302, 303, 307, 308]) func credentialsStayAtTheirOrigin(status: Int) async throws {
        let authenticator = try TokenAuthenticator(
            ScriptedTokens(),
            token: AccessToken("t1"),
            principal: "ada",
            configuration: .init(origins: [ScriptedClient.url])
        )
        let jar = CookieJar(clock: ManualClock())
        let apiKey = try #require(HTTPField.Name("X-Api-Key"))
        let device = try #require(HTTPField.Name("X-Device"))
        let defaults = RequestDefaults(fields: [apiKey: "k1", .userAgent: "app/1"])
        let configuration = CachingClient.Configuration(defaults: defaults, plugins: [authenticator, jar])
        try await ScriptedClient.run(configuration) { fixture async throws in
            fixture.always(
                "/from",
                .redirect(status, to: "\(Self.other)/hop", [.setCookie: "session=s1; Path=/"])
            )
            fixture.always("\(Self.other)/hop", .redirect(status, to: "\(ScriptedClient.url)/to"))
            fixture.always("/to", .ok("value"))
            let moving = Moving(headers: [device: "d1", .acceptLanguage: "de"], secrets: Secrets(fields: [device]))
            #expect(try await fixture.client.fetch(moving).value == "value")
            let sent = (0..<3).map { fields(fixture, $0) }
            #expect(sent.map { $0[.authorization] } == ["Bearer t1", nil, nil])
            #expect(sent.map { $0[apiKey] } == ["k1", nil, nil])
            #expect(sent.map { $0[device] } == ["d1", nil, nil])
            // The jar knows each target, so its cookies return with the origin.
            #expect(sent.map { $0[.cookie] } == [nil, nil, "session=s1"])
            #expect(sent.map { $0[.acceptLanguage] } == ["de", "de", "de"])
            #expect(sent.map { $0[.userAgent] } == ["app/1", "app/1", "app/1"])
        }
    }

    /// A login form: the POST leads to a page that is read and stored like any other.
    @Test func formLeadsToAPage() async throws {
        try await ScriptedClient.run { fixture async throws in
            let feed = fixture.get("/feed")
            fixture.script("/feed", .fresh("old"), .fresh("new"))
            _ = try await fixture.client.fetch(feed)
            fixture.transport.script(
                ScriptedClient.url + "/from",
                method: .post,
                .redirect(303, to: "/thanks", [.setCookie: "a=b"])
            )
            fixture.script("/thanks", .fresh("thanks"))
            let form = Moving(
                method: .post,
                task: .urlEncoded(["name": "ada"], destination: .content),
                invalidates: [.endpoint(feed)],
                redirects: .always
            )
            #expect(try await fixture.client.fetch(form).value == "thanks")
            let sent = fixture.transport.received.suffix(2)
            #expect(sent.map(\.head.method) == [.post, .get])
            #expect(sent.map { $0.head.headerFields[.contentType] != nil } == [true, false])
            #expect(sent.map(\.text) == ["name=ada", nil])
            #expect(try await fixture.client.fetch(feed).value == "new")
        }
    }

    @Test(arguments: [307, 308]) func uploadIsSentAgainWithoutCredentials(status: Int) async throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/file.txt"
        try Data("content of a file".utf8).write(to: URL(filePath: file))
        try await ScriptedClient.run { fixture async throws in
            fixture.always("/from", .redirect(status, to: "\(Self.other)/to"))
            fixture.always("\(Self.other)/to", .ok("stored"))
            let progress = Events()
            let upload = Moving(
                method: .put,
                task: .file(file),
                headers: [.authorization: "Bearer t1"],
                redirects: .always
            )
            let call = fixture.client.call(upload).with {
                $0.onProgress = { if $0.direction == .upload { progress.append("\($0.completed)") } }
            }
            #expect(try await call.fetch().value == "stored")
            let received = fixture.transport.received
            #expect(received.map(\.text) == ["content of a file", "content of a file"])
            #expect(received.map(\.head.method) == [.put, .put])
            #expect(fixture.sent(.authorization) == ["Bearer t1", nil])
            #expect(Set(fixture.sent(.contentType)).count == 1 && fixture.sent(.contentType)[0] != nil)
            #expect(progress.all.filter { $0 == "17" }.count == 2)
        }
    }

    /// Ten hops are followed, also when each is fetched once more after a failure.
    @Test func tenHopsMayEachFailOnce() async throws {
        var configuration = CachingClient.Configuration()
        configuration.retry = RetryPlan(limit: 11, delay: .zero)
        try await ScriptedClient.run(configuration) { fixture async throws in
            for hop in 0..<10 {
                fixture.script("/\(hop)", .status(.serviceUnavailable), .redirect(to: "/\(hop + 1)", maxAge: 60))
            }
            fixture.script("/10", .fresh("end").truncated(after: 1), .fresh("end"))
            #expect(try await fixture.client.fetch(Moving(path: "/0")).value == "end")
            #expect(fixture.transport.requests.count == 22)
        }
    }

    /// A moved resource: its new address is known without a network, to streams and by endpoint.
    @Test func movedResourceIsReadWithoutANetwork() async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.always("/from", .redirect(308, to: "/to", maxAge: 600))
            fixture.script("/to", .fresh("1"), .fresh("2"))
            #expect(try await fixture.client.fetch(Moving()).value == "1")
            // The second fetch stores the redirect as well, if the first did not.
            #expect(try await fixture.client.fetch(Moving(), .networkFirst).value == "2")
            fixture.transport.isReachable = false
            let stream = await fixture.client.startWith(Moving(), ifNetworkFails: .endingQuietly).collected()
            #expect(stream.emissions.map(\.value) == ["2"] && stream.failure == nil)
            #expect(try await fixture.client.fetch(Moving(path: "/to")).value == "2")
            #expect(try await fixture.client.stored(Moving())?.value == "2")
            try await fixture.client.update(Moving()) { $0 = "3" }
            #expect(try await fixture.client.stored(Moving(path: "/to"))?.value == "3")
            try await fixture.client.remove(Moving())
            #expect(try await fixture.client.stored(Moving(path: "/to")) == nil)
        }
    }

    /// The target's page is no feed: the stored feed is shown, and stays.
    @Test(arguments: [301, 302, 303, 307, 308]) func portalHidesNoFeed(status: Int) async throws {
        struct GetFeed: Endpoint {
            typealias Response = [Int]
            let baseURL = ScriptedClient.url
            let path = "/from"
        }
        try await ScriptedClient.run { fixture async throws in
            fixture.script("/from", .ok("[1]", fields: [.cacheControl: "max-age=1"]))
            #expect(try await fixture.client.fetch(GetFeed()).value == [1])
            fixture.always("/from", .redirect(status, to: "\(Self.other)/portal", maxAge: 600))
            fixture.always("\(Self.other)/portal", .ok("<html>", fields: [.contentType: "text/html"]))
            fixture.clock.advance(by: .seconds(5))
            let shown = try await fixture.client.fetch(GetFeed())
            #expect(shown.value == [1] && shown.isStale && shown.source == .store)
            let error = await failure { _ = try await fixture.client.fetch(GetFeed(), .networkOnly) }
            #expect(error?.code == .decodingFailed && error?.message.contains("portal") == true)
            fixture.transport.isReachable = false
            #expect(try await fixture.client.fetch(GetFeed()).value == [1])
        }
    }

    /// Two users follow the same redirect to a response of their own.
    @Test func targetBelongsToItsUser() async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.transport.script(ScriptedClient.url + "/me") { request in
                .redirect(302, to: "/home", maxAge: 60, [.vary: "Authorization"])
            }
            fixture.transport.script(ScriptedClient.url + "/home") { request in
                .ok(request.head.headerFields[.authorization] ?? "nobody's", fields: [.cacheControl: "max-age=60"])
            }
            let users = ["ada", "bob"].map { user in
                AnyRequest<String>(
                    baseURL: ScriptedClient.url,
                    path: "/me",
                    headers: [.authorization: user],
                    principal: user
                )
            }
            for _ in 1...2 {
                for user in users {
                    #expect(try await fixture.client.fetch(user, .networkFirst).value == user.principal)
                }
            }
            fixture.client.mode = .offline
            for user in users { #expect(try await fixture.client.fetch(user).value == user.principal) }
            let anonymous = AnyRequest<String>(baseURL: ScriptedClient.url, path: "/me")
            await expect(.offlineMiss) { _ = try await fixture.client.fetch(anonymous) }
            try await fixture.store.removeResponses(of: "ada")
            await expect(.offlineMiss) { _ = try await fixture.client.fetch(users[0]) }
            #expect(try await fixture.client.fetch(users[1]).value == "bob")
        }
    }
}
