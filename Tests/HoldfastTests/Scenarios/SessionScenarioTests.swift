import Foundation
import Holdfast
import HoldfastTesting
import TestSupport
import Testing

/// Two users of one device: they log in, log out and take turns.
@Suite(.timeLimit(.minutes(20))) struct SessionScenarioTests {
    private static let personal: HTTPFields = [.cacheControl: "max-age=60, private"]

    private struct Profile: Codable, Sendable, Equatable { var name: String, likes: Int }

    private struct GetProfile: Endpoint {
        typealias Response = Profile
        let baseURL = ScriptedClient.url
        let path = "/me"
    }

    private func authenticator(_ source: ScriptedTokens = ScriptedTokens(), token: AccessToken? = AccessToken("ada 1"))
        throws -> TokenAuthenticator
    {
        try TokenAuthenticator(source, token: token, principal: "ada")
    }

    private func owners(_ store: CacheManager) async throws -> [String] {
        var owners: [String] = []
        for try await entry in store.entries(.response) {
            guard case .response(let key) = entry.key else { continue }
            var owner = "common"
            if case .principal(let name) = key.components.partition { owner = name }
            owners.append(owner)
        }
        return owners.sorted()
    }

    /// Each user sees the own profile, online and offline, and nothing of the other's session.
    @Test func usersTakeTurnsOnOneDevice() async throws {
        let authenticator = try authenticator()
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture async throws in
            fixture.transport.script(ScriptedClient.url + "/me") { request in
                let token = request.head.headerFields[.authorization] ?? ""
                return .ok(#"{"name":"\#(token)","likes":1}"#, fields: Self.personal)
            }
            func name() async -> String? { try? await fixture.client.fetch(GetProfile()).value.name }
            #expect(await name() == "Bearer ada 1")
            authenticator.signOut()
            #expect(await name() == nil)
            authenticator.signIn(AccessToken("bob 1"), as: "bob")
            #expect(try await fixture.client.stored(GetProfile()) == nil)
            #expect(await name() == "Bearer bob 1")
            fixture.transport.isReachable = false
            #expect(await name() == "Bearer bob 1")
            authenticator.signIn(AccessToken("ada 2"), as: "ada")
            #expect(await name() == "Bearer ada 1")
            try await authenticator.signOutAndRemoveResponses()
            authenticator.signIn(AccessToken("ada 3"), as: "ada")
            await expect(.originUnreachable) { _ = try await fixture.client.fetch(GetProfile()) }
            authenticator.signIn(AccessToken("bob 2"), as: "bob")
            #expect(await name() == "Bearer bob 1")
        }
    }

    /// An optimistic change whose mutation fails after the log-out.
    @Test func rollBackAfterALogOutRestoresNothing() async throws {
        let authenticator = try authenticator()
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture async throws in
            fixture.script("/me", .ok(#"{"name":"ada","likes":1}"#, fields: Self.personal))
            _ = try await fixture.client.fetch(GetProfile())
            let update = try await fixture.client.update(GetProfile()) { $0.likes += 1 }
            #expect(update.value?.likes == 2)
            try await authenticator.signOutAndRemoveResponses()
            #expect(try await update.rollBack() == false)
            authenticator.signIn(AccessToken("ada 2"), as: "ada")
            #expect(try await fixture.client.stored(GetProfile()) == nil)
            #expect(try await owners(fixture.store) == [])
        }
    }

    /// The token arrives after the log-out, and revives no session.
    @Test func logOutEndsARefreshUnderWay() async throws {
        let gate = Gate()
        let source = ScriptedTokens("ada 2", gate: gate)
        let authenticator = try authenticator(source)
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture async throws in
            // Calls share a request only if they begin before its response.
            for _ in 0..<30 { fixture.script("/me", .status(.unauthorized)) }
            let calls = (0..<30).map { _ in
                Task { await failure { _ = try await fixture.client.fetch(GetProfile()) } }
            }
            while source.asked.isEmpty, !Task.isCancelled { await Task.yield() }
            try await authenticator.signOutAndRemoveResponses()
            for call in calls { #expect(await call.value?.code == .loginRequired) }
            gate.open()
            let requests = fixture.transport.requests.count
            await expect(.loginRequired) { _ = try await authenticator.token() }
            await expect(.loginRequired) { _ = try await fixture.client.fetch(GetProfile()) }
            #expect(authenticator.principal == nil)
            #expect(fixture.transport.requests.count == requests)
            #expect(try await owners(fixture.store) == [])
        }
    }

    /// A response that may not be stored is kept in memory for a moment.
    @Test func responsesInMemoryEndWithTheSession() async throws {
        let authenticator = try authenticator()
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture async throws in
            for likes in 1...2 {
                fixture.script(
                    "/me",
                    .ok(#"{"name":"ada","likes":\#(likes)}"#, fields: [.cacheControl: "no-store"])
                )
            }
            let call = fixture.client.call(GetProfile()).with { $0.reuseWithin = .seconds(600) }
            #expect(try await call.fetch().value.likes == 1)
            #expect(try await call.fetch().value.likes == 1)
            try await authenticator.signOutAndRemoveResponses()
            await expect(.loginRequired) { _ = try await call.fetch() }
            // The same user, the same token.
            authenticator.signIn(AccessToken("ada 1"), as: "ada")
            #expect(try await call.fetch().value.likes == 2)
        }
    }

    /// Another user's log-in with the same token value does not reuse either.
    @Test func responsesInMemoryAreForOneUser() async throws {
        let authenticator = try authenticator()
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture async throws in
            for likes in 1...2 {
                fixture.script(
                    "/me",
                    .ok(#"{"name":"someone","likes":\#(likes)}"#, fields: [.cacheControl: "no-store"])
                )
            }
            let call = fixture.client.call(GetProfile()).with { $0.reuseWithin = .seconds(600) }
            #expect(try await call.fetch().value.likes == 1)
            authenticator.signIn(AccessToken("ada 1"), as: "bob")
            #expect(try await call.fetch().value.likes == 2)
        }
    }

    @Test func redirectUnderWayAtALogOutLeavesNothing() async throws {
        let authenticator = try authenticator()
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture async throws in
            let gate = Gate()
            fixture.always("/from", .redirect(301, to: "/to", maxAge: 60))
            fixture.always("/to", .ok("hers", fields: Self.personal, beforeEnd: gate))
            let call = Task { try await fixture.client.fetch(Moving(offlineReads: .despiteDirectives)).value }
            await fixture.transport.waitForRequests(2)
            try await authenticator.signOutAndRemoveResponses()
            gate.open()
            #expect(try await call.value == "hers")
            #expect(try await owners(fixture.store).filter { $0 == "ada" } == [])
        }
    }

    /// A batch stores items under keys of its user.
    @Test func batchUnderWayAtALogOutLeavesNoObject() async throws {
        try await ScriptedClient.run { fixture async throws in
            let gate = Gate()
            fixture.script("/users", .ok(#"["7","8"]"#, beforeEnd: gate))
            let batch = ObjectBatch<String, String>(key: { "ada/user/\($0)" }, expiry: .never) { _ in
                AnyRequest<[String]>(baseURL: ScriptedClient.url, path: "/users")
            } values: { names in
                Dictionary(uniqueKeysWithValues: names.map { ($0, "user \($0)") })
            }
            try await fixture.store.setObject("bob's", forKey: "bob/draft")
            let fetch = Task { try await fixture.client.fetch(["7", "8"], of: batch) }
            await fixture.transport.waitForRequests(1)
            try await fixture.store.removeObjects(withPrefix: "ada/")
            gate.open()
            #expect(try await fetch.value["7"] == "user 7")
            #expect(try await fixture.store.object(String.self, forKey: "ada/user/7") == nil)
            #expect(try await fixture.store.object(String.self, forKey: "ada/user/8") == nil)
            #expect(try await fixture.store.object(String.self, forKey: "bob/draft") == "bob's")
        }
    }

    /// Cookies are credentials: without the jar's cookies, nothing of the session is found.
    @Test func emptiedJarHidesTheSessionsResponses() async throws {
        let jar = CookieJar(clock: ManualClock())
        try await ScriptedClient.run(.init(plugins: [jar])) { fixture async throws in
            for user in ["ada", "bob"] {
                fixture.transport.script(
                    ScriptedClient.url + "/login",
                    method: .post,
                    .status(.noContent, fields: [.setCookie: "session=\(user); Path=/; HttpOnly"])
                )
                fixture.script("/me", .ok(#"{"name":"\#(user)","likes":1}"#, fields: Self.personal))
            }
            let login = AnyRequest<NoContent>(baseURL: ScriptedClient.url, path: "/login", method: .post)
            for user in ["ada", "bob"] {
                _ = try await fixture.client.fetch(login)
                #expect(try await fixture.client.fetch(GetProfile()).value.name == user)
                #expect(try await fixture.client.fetch(GetProfile()).source == .store)
                jar.removeAll()
                #expect(try await fixture.client.stored(GetProfile()) == nil)
            }
            #expect(fixture.sent(.cookie) == [nil, "session=ada", nil, "session=bob"])
        }
    }

    /// The bytes of an erased session are in no file, and the other user's data are complete.
    @Test func erasedSessionIsInNoFile() async throws {
        let folder = try TemporaryFolder()
        let authenticator = try authenticator()
        let transport = ScriptedTransport()
        transport.script(ScriptedClient.url + "/me") { request in
            let user = request.head.headerFields[.authorization] == "Bearer ada 1" ? "ada" : "bob"
            return .ok(#"{"name":"secret of \#(user)","likes":1}"#, fields: Self.personal)
        }
        var configuration = CacheManager.Configuration()
        configuration.securelyDeletes = true
        let store = try await CacheManager.open(at: folder.store, configuration: configuration)
        let client = CachingClient(store: store, transport: transport, configuration: .init(plugins: [authenticator]))
        for user in ["bob", "ada"] {
            authenticator.signIn(AccessToken("\(user) 1"), as: user)
            _ = try await client.fetch(GetProfile())
            try await store.setObject("secret of \(user)", forKey: "\(user)/draft")
        }
        try await authenticator.signOutAndRemoveResponses()
        try await store.removeObjects(withPrefix: "ada/")
        try await client.close()
        try await store.close()
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.store)
        let contents = files.compactMap { FileManager.default.contents(atPath: folder.store + "/" + $0) }
        #expect(!contents.contains { $0.range(of: Data("secret of ada".utf8)) != nil })
        #expect(contents.contains { $0.range(of: Data("secret of bob".utf8)) != nil })
        let reader = try await CacheManager.openReadOnly(at: folder.store)
        #expect(try await owners(reader) == ["bob"])
        #expect(try await reader.object(String.self, forKey: "bob/draft") == "secret of bob")
        try await reader.close()
    }
}
