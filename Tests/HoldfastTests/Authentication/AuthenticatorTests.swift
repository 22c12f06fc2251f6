import Foundation
import HTTPTypes
import HoldfastTesting
import Synchronization
import TestSupport
import Testing

@testable import Holdfast

/// A source of tokens that counts its requests.
final class ScriptedTokens: TokenSource {
    private let state: Mutex<(replies: [Result<AccessToken, any Error>], asked: [String?])>
    let gate: Gate?

    init(_ replies: [Result<AccessToken, any Error>], gate: Gate? = nil) {
        state = Mutex((replies, []))
        self.gate = gate
    }

    convenience init(_ tokens: String..., gate: Gate? = nil) {
        self.init(tokens.map { .success(AccessToken($0)) }, gate: gate)
    }

    /// The tokens to replace, in order.
    var asked: [String?] { state.withLock { $0.asked } }

    func token(replacing old: AccessToken?) async throws -> AccessToken {
        let reply: Result<AccessToken, any Error>? = state.withLock { state in
            state.asked.append(old?.value)
            return state.replies.isEmpty ? nil : state.replies.removeFirst()
        }
        try await gate?.wait()
        guard let reply else {
            Issue.record("The source was asked once too often.")
            throw LoginRequired("unscripted")
        }
        return try reply.get()
    }
}

private struct Broken: Error {}
private let unreachable = TransportError(code: .connect, message: "refused")

@Suite(.timeLimit(.minutes(20))) struct AuthenticatorTests {
    private let clock = ManualClock()
    private let sleeper = ManualDurationClock()
    private static let fresh: HTTPFields = [.cacheControl: "max-age=60, private", .eTag: "\"1\""]

    private func authenticator(
        _ source: ScriptedTokens,
        token: AccessToken? = nil,
        _ configuration: TokenAuthenticator.Configuration = .init(),
        onLoginRequired: @escaping @Sendable (HoldfastError) -> Void = { _ in }
    ) throws -> TokenAuthenticator {
        try TokenAuthenticator(
            source,
            token: token,
            principal: "anna",
            configuration: configuration,
            clock: clock,
            sleeper: sleeper,
            jitter: { 1 },
            onLoginRequired: onLoginRequired
        )
    }

    private func run(_ authenticator: TokenAuthenticator, _ body: (ScriptedClient) async throws -> Void) async throws {
        try await ScriptedClient.run(clock: clock, sleeper: sleeper, .init(plugins: [authenticator]), body)
    }

    @Test func oneRequestToTheSourceServesAllWaitingCalls() async throws {
        let gate = Gate()
        let source = ScriptedTokens("t1", gate: gate)
        try await run(authenticator(source)) { fixture in
            for index in 0..<30 { fixture.script("/\(index)", .ok("a")) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<30 { group.addTask { _ = try await fixture.client.fetch(fixture.get("/\(index)")) } }
                await sleeper.sleepers(atLeast: 1)
                gate.open()
                try await group.waitForAll()
            }
            #expect(source.asked == [nil])
            #expect(fixture.sent(.authorization).allSatisfy { $0 == "Bearer t1" })
        }
    }

    @Test func cancelledCallerEndsOnlyItsOwnWait() async throws {
        let gate = Gate()
        let source = ScriptedTokens("t1", gate: gate)
        let authenticator = try authenticator(source)
        let first = Task { try await authenticator.token() }
        await sleeper.sleepers(atLeast: 1)
        let second = Task { try await authenticator.token() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        gate.open()
        #expect(try await second.value.value == "t1")
        #expect(source.asked == [nil])
    }

    @Test func failureReachesAllCallersAndPausesTheSource() async throws {
        let gate = Gate()
        let source = ScriptedTokens(
            [.failure(Broken()), .failure(Broken()), .success(AccessToken("t1"))],
            gate: gate
        )
        let authenticator = try authenticator(source)
        let waiting = (0..<10).map { _ in Task { try await authenticator.token() } }
        await sleeper.sleepers(atLeast: 1)
        gate.open()
        for task in waiting { await expect(.authenticationFailed) { _ = try await task.value } }
        for _ in 0..<10 { await expect(.authenticationFailed) { _ = try await authenticator.token() } }
        #expect(source.asked.count == 1)
        sleeper.advance(by: .seconds(1))
        await expect(.authenticationFailed) { _ = try await authenticator.token() }
        #expect(source.asked.count == 2)
        // The pause doubles.
        sleeper.advance(by: .seconds(1))
        await expect(.authenticationFailed) { _ = try await authenticator.token() }
        #expect(source.asked.count == 2)
        sleeper.advance(by: .seconds(1))
        #expect(try await authenticator.token().value == "t1")
    }

    @Test func tokenIsReplacedBeforeItExpires() async throws {
        let first = AccessToken("t1", expiresAt: clock.now().adding(.seconds(600)))
        let gate = Gate()
        let source = ScriptedTokens("t2", gate: gate)
        let authenticator = try authenticator(source, token: first)
        clock.advance(by: .seconds(539))
        #expect(try await authenticator.token() == first && source.asked == [])
        clock.advance(by: .seconds(1))
        // The old token is still accepted, so no request waits.
        #expect(try await authenticator.token() == first)
        await sleeper.sleepers(atLeast: 1)
        #expect(try await authenticator.token() == first)
        gate.open()
        while try await authenticator.token() == first, !Task.isCancelled { await Task.yield() }
        #expect(try await authenticator.token().value == "t2" && source.asked == ["t1"])
    }

    @Test func expiredTokenIsNotSent() async throws {
        let source = ScriptedTokens("t2")
        let old = AccessToken("t1", expiresAt: clock.now().adding(.seconds(10)))
        try await run(authenticator(source, token: old)) { fixture in
            clock.advance(by: .seconds(10))
            fixture.script("/x", .ok("a"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            #expect(fixture.sent(.authorization) == ["Bearer t2"])
        }
    }

    @Test func rejectedTokenIsReplacedOnceAndTheRequestIsSentAgain() async throws {
        let source = ScriptedTokens("t2")
        try await run(authenticator(source, token: AccessToken("t1"))) { fixture in
            let gates = (Gate(), Gate())
            fixture.script("/x", .init(head: .init(status: .unauthorized), beforeHead: gates.0), .ok("x"))
            fixture.script("/y", .init(head: .init(status: .unauthorized), beforeHead: gates.1), .ok("y"))
            async let x = fixture.client.fetch(fixture.get("/x"))
            async let y = fixture.client.fetch(fixture.get("/y"))
            await fixture.transport.waitForRequests(2)
            gates.0.open()
            let first = try await x
            #expect(first.value == "x")
            // The origin rejected an older token than the present one, so the request is sent again
            // at once.
            gates.1.open()
            let second = try await y
            #expect(second.value == "y")
            #expect(source.asked == ["t1"])
            #expect(fixture.sent(.authorization).suffix(2) == ["Bearer t2", "Bearer t2"])
        }
    }

    @Test func rejectingOriginCausesNoStormOfRequests() async throws {
        let source = ScriptedTokens("t2", "t3")
        try await run(authenticator(source, token: AccessToken("t1"))) { fixture in
            for _ in 0..<12 { fixture.script("/x", .status(.unauthorized)) }
            for _ in 0..<10 {
                await expect(.authenticationFailed) { _ = try await fixture.client.fetch(fixture.get("/x")) }
            }
            #expect(source.asked == ["t1"] && fixture.transport.requests.count == 11)
            sleeper.advance(by: .seconds(1))
            fixture.script("/x", .ok("a"))
            // The origin first sends the last scripted rejection, and then responds to the next
            // token.
            let emission = try await fixture.client.fetch(fixture.get("/x"))
            #expect(emission.value == "a" && source.asked == ["t1", "t2"])
        }
    }

    @Test func unchangedTokenIsNotSentAgain() async throws {
        let source = ScriptedTokens("t1")
        try await run(authenticator(source, token: AccessToken("t1"))) { fixture in
            fixture.script("/x", .status(.unauthorized))
            await expect(.authenticationFailed) { _ = try await fixture.client.fetch(fixture.get("/x")) }
            #expect(fixture.transport.requests.count == 1)
        }
    }

    @Test func storedResponsesSurviveTokenRotation() async throws {
        let source = ScriptedTokens("t2")
        try await run(authenticator(source, token: AccessToken("t1", expiresAt: clock.now().adding(.seconds(5))))) {
            fixture in
            fixture.script("/me", .ok("anna's", fields: Self.fresh), .status(.notModified, fields: Self.fresh))
            _ = try await fixture.client.fetch(fixture.get("/me"))
            clock.advance(by: .seconds(61))
            let again = try await fixture.client.fetch(fixture.get("/me"))
            #expect(again.value == "anna's" && again.outcome.forwardStatus == 304)
            #expect(fixture.sent(.authorization) == ["Bearer t1", "Bearer t2"])
            #expect(fixture.sent(.ifNoneMatch) == [nil, "\"1\""])
        }
    }

    @Test func servesStoredResponsesOfflineWithoutAValidToken() async throws {
        let none = ScriptedTokens()
        try await run(authenticator(none, token: AccessToken("t1", expiresAt: clock.now().adding(.seconds(5))))) {
            fixture in
            fixture.script("/me", .ok("anna's", fields: Self.fresh))
            _ = try await fixture.client.fetch(fixture.get("/me"))
            clock.advance(by: .seconds(86_400))
            let tokenless = fixture.client(.init(plugins: [try authenticator(none)]))
            for client in [fixture.client, tokenless] {
                client.mode = .offline
                #expect(try await client.fetch(fixture.get("/me")).value == "anna's")
                #expect(try await client.stored(fixture.get("/me"))?.value == "anna's")
                #expect(await client.startWith(fixture.get("/me")).collected().emissions.map(\.value) == ["anna's"])
                client.mode = .automatic
                #expect(try await client.fetch(fixture.get("/me"), .storedFirst).value == "anna's")
                #expect(try await client.stored(fixture.get("/me"))?.value == "anna's")
            }
            #expect(none.asked == [] && fixture.transport.requests.count == 1)
        }
    }

    @Test func freshStoredValueDoesNotWaitForAToken() async throws {
        let source = ScriptedTokens(gate: Gate())
        try await run(authenticator(source, token: AccessToken("t1", expiresAt: clock.now().adding(.seconds(5))))) {
            fixture in
            fixture.script("/me", .ok("anna's", fields: Self.fresh))
            _ = try await fixture.client.fetch(fixture.get("/me"))
            clock.advance(by: .seconds(10))
            #expect(try await fixture.client.fetch(fixture.get("/me")).source == .store)
            #expect(source.asked == [])
        }
    }

    @Test func servesStoredValueWhenTheSourceIsUnreachable() async throws {
        let source = ScriptedTokens([.failure(unreachable)])
        try await run(authenticator(source, token: AccessToken("t1", expiresAt: clock.now().adding(.seconds(5))))) {
            fixture in
            fixture.script("/me", .ok("anna's", fields: Self.fresh))
            _ = try await fixture.client.fetch(fixture.get("/me"))
            clock.advance(by: .seconds(100))
            for strategy in [SingleValueStrategy.standard, .networkFirst] {
                let stored = try await fixture.client.fetch(fixture.get("/me"), strategy)
                #expect(stored.value == "anna's" && stored.isStale && stored.outcome.detail == .unreachable)
            }
            let stream = await fixture.client.startWith(fixture.get("/me")).collected()
            #expect(stream.emissions.map(\.source) == [.store] && stream.failure == .originUnreachable)
            await expect(.originUnreachable) { _ = try await fixture.client.fetch(fixture.get("/me"), .networkOnly) }
            await expect(.originUnreachable) { _ = try await fixture.client.fetch(fixture.get("/other")) }
            #expect(source.asked.count == 1)
        }
    }

    @Test func servesStoredValueWhenTheSourceFailsAfterARejection() async throws {
        let source = ScriptedTokens([.failure(unreachable)])
        try await run(authenticator(source, token: AccessToken("t1"))) { fixture in
            fixture.script("/me", .ok("anna's", fields: Self.fresh), .status(.unauthorized))
            _ = try await fixture.client.fetch(fixture.get("/me"))
            clock.advance(by: .seconds(100))
            let stored = try await fixture.client.fetch(fixture.get("/me"))
            #expect(stored.value == "anna's" && stored.isStale)
        }
    }

    @Test func requiredLoginIsFinalAndReported() async throws {
        let reported = Events()
        let source = ScriptedTokens([.failure(LoginRequired("revoked"))])
        let authenticator = try authenticator(source, token: AccessToken("t1")) { reported.append("\($0.code)") }
        try await run(authenticator) { fixture in
            fixture.script("/me", .ok("anna's", fields: Self.fresh), .status(.unauthorized))
            _ = try await fixture.client.fetch(fixture.get("/me"))
            clock.advance(by: .seconds(100))
            for _ in 0..<5 {
                await expect(.loginRequired) { _ = try await fixture.client.fetch(fixture.get("/me")) }
                sleeper.advance(by: .seconds(3_600))
            }
            #expect(source.asked.count == 1 && reported.all == ["loginRequired"])
            // A value that is requested with a strategy for stored values is still served.
            #expect(try await fixture.client.fetch(fixture.get("/me"), .storedFirst).value == "anna's")
            fixture.script("/me", .ok("anna's again", fields: Self.fresh))
            authenticator.signIn(AccessToken("t9"), as: "anna")
            #expect(try await fixture.client.fetch(fixture.get("/me")).value == "anna's again")
            #expect(fixture.sent(.authorization).last == "Bearer t9")
        }
    }

    @Test func loggedOutCallerSeesNoStoredResponses() async throws {
        let authenticator = try authenticator(ScriptedTokens(), token: AccessToken("t1"))
        try await run(authenticator) { fixture in
            fixture.script("/me", .ok("anna's", fields: Self.fresh), .ok("bert's", fields: Self.fresh))
            _ = try await fixture.client.fetch(fixture.get("/me"))
            authenticator.signOut()
            await expect(.loginRequired) { _ = try await fixture.client.fetch(fixture.get("/me")) }
            #expect(try await fixture.client.stored(fixture.get("/me")) == nil)
            authenticator.signIn(AccessToken("t2"), as: "bert")
            #expect(try await fixture.client.fetch(fixture.get("/me")).value == "bert's")
            authenticator.signIn(AccessToken("t3"), as: "anna")
            #expect(try await fixture.client.fetch(fixture.get("/me")).value == "anna's")
        }
    }

    @Test func waitingCallersGetEveryOutcome() async throws {
        // Without a pause the caller still gets the failure: no second attempt hides it.
        let failing = try authenticator(ScriptedTokens([.failure(Broken())]), .init(pause: .zero))
        await expect(.authenticationFailed) { _ = try await failing.token() }
        let gate = Gate()
        let source = ScriptedTokens("late", "t3", gate: gate)
        let authenticator = try authenticator(source)
        let waiting = Task { try await authenticator.token() }
        await sleeper.sleepers(atLeast: 1)
        // The login brings a token that has expired already. The source is asked again, and its
        // first response is ignored.
        authenticator.signIn(AccessToken("t2", expiresAt: clock.now()), as: "anna")
        while source.asked.count < 2, !Task.isCancelled { await Task.yield() }
        gate.open()
        #expect(try await waiting.value.value == "t3")
        let signedOut = try self.authenticator(ScriptedTokens(gate: Gate()))
        let other = Task { try await signedOut.token() }
        await sleeper.sleepers(atLeast: 1)
        signedOut.signOut()
        await expect(.loginRequired) { _ = try await other.value }
    }

    @Test func unresponsiveSourceIsLimitedByATimeout() async throws {
        let authenticator = try authenticator(ScriptedTokens(gate: Gate()))
        let waiting = Task { try await authenticator.token() }
        await sleeper.sleepers(atLeast: 1)
        sleeper.advance(by: .seconds(30))
        await expect(.originUnreachable) { _ = try await waiting.value }
    }

    @Test func tokensAreSentOnlyToTheirOrigins() async throws {
        let paths = ["https://a.example", "https://a.example:8443", "http://a.example", "https://b.example"]
        let environment = ServerEnvironment("test", baseURL: "https://a.example/v1")
        let cases: [([String], ServerEnvironment?, [String])] = [
            ([], environment, ["https://a.example"]), ([], nil, paths),
            (["b.example"], environment, ["https://b.example"]),
            (["HTTPS://A.example:443/any", "http://a.example:80"], nil, ["https://a.example", "http://a.example"]),
        ]
        for (origins, environment, expected) in cases {
            let authenticator = try authenticator(
                ScriptedTokens(),
                token: AccessToken("t1"),
                .init(origins: origins)
            )
            let configuration = CachingClient.Configuration(environment: environment, plugins: [authenticator])
            try await ScriptedClient.run(clock: clock, sleeper: sleeper, configuration) { fixture in
                for path in paths {
                    fixture.transport.script(path + "/x", .ok("a"))
                    _ = try await fixture.client.fetch(PathEndpoint(baseURL: path, path: "/x"))
                }
                let sent = zip(paths, fixture.sent(.authorization)).filter { $0.1 == "Bearer t1" }.map(\.0)
                #expect(sent == expected)
            }
        }
        #expect(throws: HoldfastError.self) { try authenticator(ScriptedTokens(), .init(origins: ["not an origin"])) }
    }

    @Test func existingFieldIsKept() async throws {
        try await run(authenticator(ScriptedTokens(), token: AccessToken("t1"))) { fixture in
            fixture.script("/x", .status(.unauthorized))
            await expect(.authenticationFailed) {
                _ = try await fixture.client.fetch(fixture.get("/x", [.authorization: "Basic own"]))
            }
            #expect(fixture.sent(.authorization) == ["Basic own"])
        }
    }

    @Test func sourceMayUseTheClientThatItAuthenticates() async throws {
        let source = try TokenAuthenticator(principal: "anna") { _ in
            let value = try await CachingClient.current?.fetch(
                PathEndpoint(baseURL: ScriptedClient.url, path: "/token"),
                .networkOnly
            ).value
            return AccessToken(value ?? "none")
        }
        try await run(source) { fixture in
            fixture.script("/token", .ok("t1"))
            fixture.script("/x", .ok("a"))
            try await CachingClient.$current.withValue(fixture.client) {
                _ = try await fixture.client.fetch(fixture.get("/x"))
            }
            #expect(fixture.sent(.authorization) == [nil, "Bearer t1"])
        }
    }

    @Test func tokenIsInNoLogErrorOrDescription() async throws {
        let log = CapturedLog()
        let authenticator = try authenticator(
            ScriptedTokens([.success(AccessToken("SECRET-2")), .failure(Broken())]),
            token: AccessToken("SECRET-1")
        )
        let logging = NetworkLogger(log.logger(), .init(form: .curl, showsFields: true, contentLimit: 1000))
        var texts: [String] = []
        let configuration = CachingClient.Configuration(plugins: [authenticator, logging])
        try await ScriptedClient.run(clock: clock, sleeper: sleeper, logger: log.logger(), configuration) { fixture in
            fixture.script("/x", .status(.unauthorized, "SECRET-1 is refused"), .ok("SECRET-2 is taken"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            sleeper.advance(by: .seconds(10))
            fixture.script("/x", .status(.unauthorized))
            do {
                _ = try await fixture.client.fetch(fixture.get("/x"), .networkOnly)
                Issue.record("A token was had.")
            } catch {
                texts.append("\(error) \(String(reflecting: error))")
            }
            #expect(fixture.sent(.authorization).count == 3)
        }
        let token = AccessToken("SECRET-3", expiresAt: clock.now())
        for value in [token, authenticator, [token]] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            texts += [dumped, "\(value)", String(reflecting: value)]
        }
        #expect(!log.text.contains("SECRET") && log.text.contains("Authorization: REDACTED"))
        for text in texts { #expect(!text.contains("SECRET"), "\(text)") }
    }
}

@Suite(.timeLimit(.minutes(20))) struct TokenStateTests {
    private static func state(_ token: AccessToken, at now: TokenState.Instant) -> TokenState {
        var state = TokenState(
            nil,
            TokenState.Limits(leeway: .seconds(60), pause: .seconds(1), maximumPause: .seconds(60)),
            at: now
        )
        state.signIn(token, at: now)
        return state
    }

    @Test func rejectedTokenWaitsForItsReplacement() {
        let now = TokenState.Instant(date: Timestamp(milliseconds: 0), uptime: .zero)
        // The origin rejects a token that has just arrived. That alone is no reason to ask for
        // another.
        var alone = Self.state(AccessToken("one"), at: now)
        #expect(alone.reject("one", at: now) == false)
        var replaced = Self.state(AccessToken("one"), at: now)
        let generation = replaced.beginFetch()
        #expect(generation != nil && replaced.reject("one", at: now))
        guard case .wait = replaced.decide(at: now) else {
            Issue.record("It does not wait.")
            return
        }
    }
}
