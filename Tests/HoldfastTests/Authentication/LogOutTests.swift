import Holdfast
import HoldfastTesting
import Testing

/// The end of a session that leaves nothing of its principal in the store.
@Suite(.timeLimit(.minutes(20))) struct LogOutTests {
    private static let fresh: HTTPFields = [.cacheControl: "max-age=60, private"]

    /// An endpoint of a principal of its own, with credentials of its own.
    private struct Mail: Endpoint {
        typealias Response = String
        let baseURL = ScriptedClient.url
        let path: String
        let principal: String?
        var headers: HTTPFields { principal.map { [.authorization: "Bearer \($0)'s own"] } ?? [:] }
    }

    private func authenticator(_ source: ScriptedTokens = ScriptedTokens(), token: String? = "t1") throws
        -> TokenAuthenticator
    {
        try TokenAuthenticator(source, token: token.map { AccessToken($0) }, principal: "ada")
    }

    private func owners(_ store: CacheManager) async throws -> [String] {
        var owners: [String] = []
        for try await entry in store.entries(.response) {
            guard case .response(let key) = entry.key else { continue }
            switch key.components.partition {
            case .principal(let name): owners.append(name)
            case .common: owners.append("common")
            case .credentials: owners.append("credentials")
            case .job: owners.append("job")
            }
        }
        return owners.sorted()
    }

    @Test func signOutThatErasesRemovesHersAndLeavesTheOthers() async throws {
        let authenticator = try authenticator()
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture in
            for path in ["/1", "/2"] { fixture.script(path, .ok("hers", fields: Self.fresh)) }
            fixture.script("/1", .ok("bob's", fields: Self.fresh))
            fixture.script("/all", .ok("everybody's", fields: [.cacheControl: "public, max-age=60"]))
            for path in ["/1", "/2", "/all"] { _ = try await fixture.client.fetch(Mail(path: path, principal: nil)) }
            _ = try await fixture.client.fetch(Mail(path: "/1", principal: "bob"))
            #expect(try await owners(fixture.store) == ["ada", "ada", "bob", "common"])
            try await authenticator.signOutAndRemoveResponses()
            #expect(try await owners(fixture.store) == ["bob", "common"])
            #expect(authenticator.principal == nil)
            await expect(.loginRequired) { _ = try await fixture.client.fetch(Mail(path: "/1", principal: nil)) }
            // She logs in again, and finds nothing.
            authenticator.signIn(AccessToken("t2"), as: "ada")
            #expect(try await fixture.client.stored(Mail(path: "/1", principal: nil)) == nil)
            #expect(try await fixture.client.stored(Mail(path: "/1", principal: "bob"))?.value == "bob's")
        }
    }

    @Test func signOutThatErasesNothingLeavesEverything() async throws {
        let authenticator = try authenticator()
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture in
            fixture.script("/1", .ok("hers", fields: Self.fresh))
            _ = try await fixture.client.fetch(Mail(path: "/1", principal: nil))
            authenticator.signOut()
            #expect(try await owners(fixture.store) == ["ada"])
            // A later call erases the responses of the last session.
            try await authenticator.signOutAndRemoveResponses()
            #expect(try await owners(fixture.store) == [])
        }
    }

    /// Every store that a client with the authenticator uses, also for single calls.
    @Test func signOutErasesInTheStoresOfAllItsClients() async throws {
        let authenticator = try authenticator()
        try await ScriptedClient.run(.init(plugins: [authenticator])) { first in
            try await ScriptedClient.run { second in
                for fixture in [first, second] {
                    fixture.script("/1", .ok("hers", fields: Self.fresh))
                    let call = fixture.client.call(Mail(path: "/1", principal: nil))
                    _ = try await (fixture.store === first.store ? call : call.with { $0.plugins = [authenticator] })
                        .fetch()
                    #expect(try await owners(fixture.store) == ["ada"])
                }
                try await authenticator.signOutAndRemoveResponses()
                for fixture in [first, second] { #expect(try await owners(fixture.store) == []) }
            }
        }
    }

    @Test func signOutThatCannotEraseSaysSoAndEndsTheSession() async throws {
        let alone = try authenticator()
        await expect(.noClient) { try await alone.signOutAndRemoveResponses() }
        #expect(alone.principal == nil)
        await expect(.loginRequired) { _ = try await alone.token() }
        let authenticator = try authenticator()
        try await ScriptedClient.run(.init(plugins: [authenticator])) { open in
            try await ScriptedClient.run(.init(plugins: [authenticator])) { closed in
                open.script("/1", .ok("hers", fields: Self.fresh))
                _ = try await open.client.fetch(Mail(path: "/1", principal: nil))
                try await closed.store.close()
                await #expect(throws: StoreError.self) { try await authenticator.signOutAndRemoveResponses() }
                // One store's failure keeps no other from being erased.
                #expect(try await owners(open.store) == [])
                #expect(authenticator.principal == nil)
            }
        }
    }

    // MARK: Requests under way

    /// Waits in `prepare`, when the request to the network has its principal and its token.
    private struct Waiting: PreparingPlugin {
        let gate: Gate
        let isThere: Gate
        func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws {
            guard call.purpose == .network else { return }
            isThere.open()
            try await gate.wait()
        }
    }

    @Test func requestThatWasPreparedBeforeIsNotStoredAfterwards() async throws {
        let (authenticator, waiting) = (try authenticator(), Waiting(gate: Gate(), isThere: Gate()))
        try await ScriptedClient.run(.init(plugins: [authenticator, waiting])) { fixture in
            fixture.script("/1", .ok("hers", fields: Self.fresh))
            let call = Task { try await fixture.client.fetch(Mail(path: "/1", principal: nil)).value }
            try await waiting.isThere.wait()
            try await authenticator.signOutAndRemoveResponses()
            waiting.gate.open()
            #expect(try await call.value == "hers")
            #expect(try await owners(fixture.store) == [])
            // The next one is stored again.
            authenticator.signIn(AccessToken("t2"), as: "ada")
            fixture.script("/1", .ok("again", fields: Self.fresh))
            _ = try await fixture.client.fetch(Mail(path: "/1", principal: nil))
            #expect(try await owners(fixture.store) == ["ada"])
        }
    }

    /// A request that waited for a token while the user changed gets the token of one user. Its
    /// response is stored for that user.
    @Test func requestThatWaitedWhileTheUserChangedIsStoredForTheUserOfItsToken() async throws {
        let gate = Gate()
        let source = ScriptedTokens("late", gate: gate)
        let authenticator = try authenticator(source, token: nil)
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture in
            fixture.script("/1", .ok("bob's", fields: Self.fresh))
            let call = Task { try await fixture.client.fetch(Mail(path: "/1", principal: nil)).value }
            while source.asked.isEmpty, !Task.isCancelled { await Task.yield() }
            authenticator.signIn(AccessToken("bob's token"), as: "bob")
            let value = try await call.value
            #expect(value == "bob's")
            #expect(fixture.sent(.authorization) == ["Bearer bob's token"])
            #expect(try await owners(fixture.store) == ["bob"])
            gate.open()
        }
    }

    /// Thirty callers of each of three users continue while one of the users logs out.
    @Test func logOutOfOneOfThreeUnderLoadLeavesTheOthers() async throws {
        let authenticator = try authenticator()
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture in
            let (names, paths) = ([nil, "bob", "eve"], 40)
            for path in 0..<paths {
                fixture.transport.script("\(ScriptedClient.url)/\(path)") { request in
                    await Task.yield()
                    return .ok(request.head.headerFields[.authorization] ?? "", fields: Self.fresh)
                }
            }
            let done = await withTaskGroup(of: Bool.self, returning: Int.self) { group in
                for name in names {
                    for caller in 0..<30 {
                        group.addTask {
                            for step in 0..<paths {
                                let endpoint = Mail(path: "/\((step + caller) % paths)", principal: name)
                                do throws(HoldfastError) {
                                    let value = try await fixture.client.fetch(endpoint).value
                                    if value != "Bearer \(name.map { "\($0)'s own" } ?? "t1")" { return false }
                                } catch {
                                    return name == nil && error.code == .loginRequired
                                }
                            }
                            return true
                        }
                    }
                }
                group.addTask {
                    await fixture.transport.waitForRequests(30)
                    return await (try? authenticator.signOutAndRemoveResponses()) != nil
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(done == 91)
            // Nothing is fetched any more.
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            let owners = try await owners(fixture.store)
            #expect(owners == [String](repeating: "bob", count: paths) + [String](repeating: "eve", count: paths))
        }
    }
}
