import HTTPCache
import HTTPCacheExplaining
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// Parameters and fields that a caller names as credentials.
@Suite(.timeLimit(.minutes(20))) struct SecretsTests {
    private static let secret = "s3cr3t-k3y"
    private static let url = "https://a.example/feed?page=1&appid=\(secret)"
    private static let field = HTTPField.Name("X-Signed-By")

    private func request(
        _ fixture: EngineFixture,
        _ url: String = url,
        _ fields: HTTPFields = [:],
        method: HTTPRequest.Method = .get,
        preference: CacheRequest.Preference = .standard,
        principal: String? = nil
    ) throws -> CacheRequest {
        var request = try fixture.request(url, fields, method: method, preference: preference, principal: principal)
        request.secretParameters = ["appid"]
        if let field = Self.field { request.secretFields = [field] }
        return request
    }

    @discardableResult
    private func text(_ fixture: EngineFixture, _ request: CacheRequest) async throws -> String {
        String(buffer: try await fixture.engine.respond(to: request).body.collect(upTo: 1 << 20))
    }

    private func holdsSecret(_ bytes: some Collection<UInt8>, _ secret: String = secret) -> Bool {
        bytes.contains(Array(secret.utf8))
    }

    @Test func secretParameterIsSentAndNotKeyed() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(Self.url, .fresh("mine"))
        let request = try request(fixture)
        #expect(try await text(fixture, request) == "mine")
        #expect(fixture.transport.requests.first?.path == "/feed?page=1&appid=\(Self.secret)")
        let key = try #require(fixture.engine.key(for: request))
        #expect(key.components.target.uri == "https://a.example/feed?page=1")
        #expect(!holdsSecret(key.bytes))
        #expect(try await text(fixture, request) == "mine")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func secretIdentifiesPrincipals() async throws {
        let fixture = EngineFixture()
        let other = "https://a.example/feed?page=1&appid=another"
        fixture.transport.script(Self.url, .fresh("mine"))
        fixture.transport.script(other, .fresh("theirs"))
        #expect(try await text(fixture, request(fixture)) == "mine")
        #expect(try await text(fixture, request(fixture, other)) == "theirs")
        // The common partition does not have it either.
        #expect(await fixture.failure("https://a.example/feed?page=1", preference: .storedOnly) == .offlineMiss)
    }

    @Test func namedPrincipalKeepsResponsesWhenSecretRotates() async throws {
        let fixture = EngineFixture()
        let rotated = "https://a.example/feed?page=1&appid=rotated"
        fixture.transport.script(Self.url, .fresh("mine"))
        _ = try await text(fixture, request(fixture, principal: "me"))
        #expect(try await text(fixture, request(fixture, rotated, principal: "me")) == "mine")
    }

    @Test(arguments: [
        "appid=\(secret);page=2", "appid=\(secret)%26page=2", "x=1;appid=\(secret)", "x=1%26appid=\(secret)",
        "%61ppid=\(secret)", "x=1%2526appid=\(secret)",
    ])
    func noSpellingOfSecretReachesKey(query: String) async throws {
        let fixture = EngineFixture()
        for principal in [nil, "me"] {
            let url = "https://a.example/feed?\(query)"
            let key = try #require(fixture.engine.key(for: request(fixture, url, principal: principal)))
            #expect(!holdsSecret(key.bytes))
            // A log-out has to find the responses of the principal.
            #expect(KeyOwner(key) == principal.map { KeyOwner($0) })
            // The parameters hidden behind it still make a difference.
            let other = url.replacing("page=2", with: "page=3").replacing("x=1", with: "x=2")
            let otherKey = try #require(fixture.engine.key(for: request(fixture, other, principal: principal)))
            if other != url { #expect(key != otherKey) }
        }
    }

    @Test func secretFieldIsCredentialAndSelectsByHMAC() async throws {
        let fixture = EngineFixture()
        let field = try #require(Self.field)
        let url = "https://a.example/feed"
        fixture.transport.script(url, .ok("mine", fields: [.cacheControl: "max-age=60", .vary: "X-Signed-By"]))
        fixture.transport.script(url, .ok("theirs", fields: [.cacheControl: "max-age=60", .vary: "X-Signed-By"]))
        #expect(try await text(fixture, request(fixture, url, [field: Self.secret])) == "mine")
        #expect(try await text(fixture, request(fixture, url, [field: "other"])) == "theirs")
        #expect(try await text(fixture, request(fixture, url, [field: Self.secret])) == "mine")
        let stored = fixture.memory.all
        #expect(stored.count == 2 && Set(stored.map(\.key)).count == 2)
        for response in stored {
            #expect(response.head.selectingFields[field]?.utf8.count == 64)
            #expect(!holdsSecret(response.key.bytes))
        }
    }

    @Test func responseThatRepeatsSecretIsNotStored() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            Self.url,
            .status(
                .movedPermanently,
                fields: [.location: "/feed/?page=1&appid=\(Self.secret)", .cacheControl: "max-age=60"]
            )
        )
        _ = try await text(fixture, request(fixture))
        #expect(fixture.memory.all.isEmpty)
    }

    @Test func repeatedSecretIn304ConfirmsAndIsNotStored() async throws {
        let fixture = EngineFixture()
        let link = try #require(HTTPField.Name("Link"))
        fixture.transport.script(
            Self.url,
            .fresh("mine", etag: "\"1\""),
            .status(.notModified, fields: [.eTag: "\"1\"", link: "<\(Self.url)>; rel=self"])
        )
        _ = try await text(fixture, request(fixture))
        fixture.clock.advance(by: .seconds(61))
        #expect(try await text(fixture, request(fixture)) == "mine")
        #expect(fixture.memory.all.allSatisfy { !$0.head.fields.contains(link) })
    }

    @Test func unsafeMethodInvalidatesKeyWithoutSecret() async throws {
        let fixture = EngineFixture()
        let plain = "https://a.example/feed?page=1"
        fixture.transport.script(plain, .fresh("everybody's"))
        fixture.transport.script(Self.url, .fresh("mine"), .status(.noContent))
        _ = try await text(fixture, request(fixture))
        _ = try await fixture.get(plain)
        _ = try await text(fixture, request(fixture, method: .post))
        #expect(fixture.memory.all.count == 2)
        #expect(fixture.memory.all.allSatisfy { $0.head.isInvalidated })
    }

    @Test func changesAreReportedForKeyWithoutSecret() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(Self.url, .fresh("mine"))
        var changes = fixture.engine.changes(for: try request(fixture)).makeAsyncIterator()
        _ = try await text(fixture, request(fixture))
        #expect(await changes.next()?.kind == .stored)
    }

    @Test func noMessageShowsSecret() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(Self.url, .failure(.other))
        func message(_ request: CacheRequest) async -> String {
            do {
                _ = try await text(fixture, request)
                return "no error"
            } catch {
                return "\(error) \(String(reflecting: error))"
            }
        }
        for request in [
            try request(fixture, preference: .storedOnly), try request(fixture, method: .post, preference: .storedOnly),
            try request(fixture),
        ] {
            let message = await message(request)
            #expect(message != "no error" && !message.contains(Self.secret))
        }
        // This transport's errors hold the whole target.
        var untold = try request(fixture, "https://a.example/other?appid=\(Self.secret)")
        #expect(await !message(untold).contains(Self.secret))
        untold.head.scheme = "ftp"
        #expect(await !message(untold).contains(Self.secret))
        await fixture.engine.shutDown()
        let late = try request(fixture)
        #expect(await !message(late).contains(Self.secret))
    }

    @Test func noExplanationShowsSecret() async throws {
        let fixture = EngineFixture()
        let field = try #require(Self.field)
        let explanation = try await fixture.engine.explain(request(fixture, Self.url, [field: Self.secret]))
        #expect(!String(reflecting: explanation).contains(Self.secret))
        #expect(explanation.request.changes.contains { $0.summary.contains("'appid'") })
    }

    @Test func rulesSeeTargetWithoutSecret() async throws {
        let rules = TestRules { request in
            #expect(request.path?.contains(Self.secret) == false)
            return RequestRules.with { $0.target.sortsParameters = true }
        }
        let fixture = EngineFixture(rules: rules)
        fixture.transport.script("https://a.example/feed?appid=\(Self.secret)&page=1", .fresh("mine"), .status(.ok))
        _ = try await text(fixture, request(fixture))
        #expect(fixture.memory.all.first?.key.components.target.uri == "https://a.example/feed?page=1")
        _ = try await text(fixture, request(fixture, method: .delete))
        #expect(fixture.memory.all.allSatisfy { $0.head.isInvalidated })
    }
}
