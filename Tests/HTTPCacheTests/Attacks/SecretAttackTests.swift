import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import TestSupport
import Testing

/// Secrets of clients and of rules: none is in a log, an error, a key or a stored head.
///
/// docs/attacks.md, 25. Mutants are changes of one line; `scripts/mutants` applies them.
@Suite(.timeLimit(.minutes(20))) struct SecretAttackTests {
    private let url = EngineFixture.url

    /// Mutants: `ExchangeError` messages with `uri` for `redactedTarget`;
    /// `CredentialPartition.selecting` returns the request as it is; the engine's log with
    /// `request.head.path`.
    @Test func logsErrorsAndKeysShowNoSecrets() async throws {
        let log = CapturedLog()
        let transport = ScriptedTransport()
        let memory = InMemoryResponseStore()
        var options = EngineOptions()
        options.hardTimeout = nil
        let engine = CacheEngine(
            store: FaultyResponseStore(memory),
            transport: transport,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            parts: .init(clock: ManualClock(), sleeper: ManualDurationClock()),
            logger: log.logger()
        )
        let secret = "s3cret"
        let target = "https://a.example/x?access_token=\(secret)&page=1"
        let fields: HTTPFields = [
            .authorization: "Bearer \(secret)", .cookie: "sid=\(secret)", .range: "bytes=0-",
            .referer: "https://b.example/?code=\(secret)",
        ]
        func request(_ target: String, _ preference: CacheRequest.Preference = .standard) throws -> CacheRequest {
            var request = CacheRequest(head: try HTTPRequest(url: target, fields: fields))
            request.preference = preference
            return request
        }
        var shown: [String] = []
        func ask(_ request: CacheRequest) async {
            do {
                let response = try await engine.respond(to: request)
                _ = try? await response.body.collect(upTo: 1 << 20)
                shown += [response.outcome.cacheStatus(), "\(response.outcome)"]
            } catch {
                shown += ["\(error)", String(reflecting: error)]
                let outcome = (error as? ExchangeError)?.outcome
                shown += [outcome?.cacheStatus() ?? "", "\((error as? ExchangeError)?.cause.map { "\($0)" } ?? "")"]
            }
        }
        let vary: HTTPFields = [.cacheControl: "max-age=60", .vary: "Cookie, Authorization"]
        let other = target.replacing("/x?", with: "/y?")
        let refused = target.replacing("/x?", with: "/z?")
        transport.script(target, .ok("a", fields: vary))
        transport.script(other, .failure(.connect), .failure(.connect), .failure(.connect))
        transport.script(refused, .failure(.protocolViolation))
        await ask(try request(target))
        await ask(try request(target))
        await ask(try request(target.replacing("page=1", with: "page=2"), .storedOnly))
        await ask(try request(refused))
        await ask(try request(other))
        await ask(try request(other))
        var malformed = try request(target)
        malformed.head.path = "/cb#access_token=\(secret)"
        await ask(malformed)
        malformed.head.authority = "user:\(secret)@a.example"
        await ask(malformed)
        var posted = try request(other)
        posted.head.method = .post
        posted.preference = .storedOnly
        await ask(posted)
        await engine.shutDown()
        await ask(try request(target))

        #expect(log.lines.count >= 9 && shown.count >= 18)
        for line in log.lines + shown { #expect(!line.contains(secret), "\(line)") }
        // The stored response identifies no user: credentials are in its key and selecting fields
        // only as HMACs.
        let stored = try #require(memory.all.first)
        #expect(memory.all.count == 1 && stored.head.selectingFields.count == 2)
        #expect(!stored.head.selectingFields.contains { $0.value.contains(secret) })
        if case .credentials(let digest) = stored.key.components.partition {
            #expect(digest.count == 32 && !String(decoding: digest, as: UTF8.self).contains(secret))
        } else {
            Issue.record("stored for \(stored.key.components.partition)")
        }
    }

    @Test func sessionIsNotInKey() async throws {
        let fixture = EngineFixture(kind: .shared, rules: TestRules { $0.principal = .cookie("session") })
        let key = try #require(fixture.engine.key(for: fixture.request(url, [.cookie: "session=topsecret"])))
        #expect(!String(decoding: key.bytes, as: UTF8.self).contains("topsecret"))
        #expect(!"\(key)".contains("topsecret"))
    }

    @Test func fieldSetForOriginIsInNoError() async throws {
        let fixture = EngineFixture(
            rules: TestRules { $0.requestFields.set = [.authorization: "Bearer topsecret"] }
        )
        fixture.transport.script(url, .failure(.connect))
        let error = await #expect(throws: ExchangeError.self) { try await fixture.get() }
        #expect(error.map { !"\($0) \($0.message)".contains("topsecret") } == true)
    }

    @Test func settingsShowNoValuesWhenPrinted() throws {
        var settings = ExchangeSettings()
        settings.requestFields = FieldEdits(removed: [.cookie], set: [.authorization: "Bearer topsecret"])
        var dumped = ""
        dump(settings, to: &dumped)
        let fixture = EngineFixture(rules: TestRules { $0.requestFields = settings.requestFields })
        let prepared = try #require(fixture.engine.prepare(fixture.request(url)))
        for text in ["\(settings)", String(reflecting: settings), dumped, "\(prepared)", "\(prepared.changes)"] {
            #expect(!text.contains("topsecret"))
        }
        #expect("\(settings)".contains("remove: cookie; set: authorization"))
    }
}
