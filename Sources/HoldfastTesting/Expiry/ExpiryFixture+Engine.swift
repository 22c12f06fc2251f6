package import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore

extension ExpiryFixture {
    /// Runs the fixture through an engine and a store: stores the response, moves the clock, and
    /// sends the requests.
    ///
    /// Expectations about properties that an engine does not expose, such as the source of the
    /// lifetime, are not checked. If a fixture's response may not be stored by any cache, it has no
    /// findings here.
    ///
    /// - Parameter makeStore: creates an empty store; called for each kind of cache.
    /// - Returns: the differences from the fixture's expectations; empty if there are none.
    /// - Throws: ``ExpiryFixtureError`` if an instant is invalid, an error of the store, or an
    ///   error that occurs while the response is being stored.
    package func findings(in makeStore: () async throws -> any ResponseStore) async throws -> [ContractFinding] {
        guard storable ?? true else { return [] }
        var findings: [ContractFinding] = []
        for cache in caches {
            let run = ExpiryRun(fixture: self, cache: cache, store: try await makeStore())
            try await run.fill()
            for instant in then { findings += try await run.findings(at: instant) }
        }
        return findings
    }
}

/// Runs a fixture in one kind of cache.
private struct ExpiryRun {
    let fixture: ExpiryFixture
    let cache: ExpiryFixture.Cache
    let store: any ResponseStore
    let clock = ManualClock()

    static let url = "https://a.example/"

    /// Creates a new engine for each call, so that only the store remembers earlier calls.
    private func withEngine<Value>(
        _ transport: ScriptedTransport,
        _ body: (CacheEngine) async throws -> Value
    ) async throws -> Value {
        let engine = CacheEngine(
            store: store,
            transport: transport,
            policy: cache.policy,
            credentialSecret: [UInt8](repeating: 1, count: 32),
            parts: .init(clock: clock),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let ending: Result<Value, any Error>
        do { ending = .success(try await body(engine)) } catch { ending = .failure(error) }
        await engine.shutDown()
        return try ending.get()
    }

    func fill() async throws {
        let stored = fixture.stored
        let responseTime = Timestamp(milliseconds: try stored.responseMilliseconds())
        clock.set(to: Timestamp(milliseconds: try stored.requestMilliseconds()))
        let transport = ScriptedTransport()
        let fields = ExpiryFixture.fields(stored.response)
        transport.script(Self.url) { [clock] _ in
            clock.set(to: responseTime)
            return .status(.init(code: stored.status ?? 200), "stored", fields: fields)
        }
        try await withEngine(transport) { engine in
            var request = CacheRequest(head: ExpiryFixture.request(stored.request))
            if let expiry = try stored.explicitExpiryMilliseconds() {
                request.storage = .expiring(expiry == .max ? .never : .at(Timestamp(milliseconds: expiry)))
            }
            _ = try await engine.respond(to: request).body.collect(upTo: 100)
            if stored.invalidated == true {
                let target = InvalidationScope.target(try TargetURI(Self.url))
                _ = try await store.invalidate(target, keepingForOffline: true, at: clock.now())
            }
        }
    }

    func findings(at instant: ExpiryFixture.Instant) async throws -> [ContractFinding] {
        var findings: [ContractFinding] = []
        func expect(_ isSo: Bool, _ what: String, _ expected: String, _ came: String) {
            if !isSo { findings.append(fixture.finding("a \(cache) cache at \(instant.at)", what, expected, came)) }
        }
        let expected = instant.expect
        let unreachable = try await response(to: instant, .failure(.connect))
        let came = unreachable.text ?? unreachable.refusal ?? "nothing"
        switch expected.verdict {
        case .fresh, .staleAllowed:
            expect(
                unreachable.requests == 0 && unreachable.text == "stored",
                "verdict",
                "stored",
                "\(came) after \(unreachable.requests) requests"
            )
        // The background validation may or may not have started.
        case .staleWhileRevalidate: expect(unreachable.text == "stored", "verdict", "stored", came)
        case .validate: expect(unreachable.requests == 1, "verdict", "1 request", "\(unreachable.requests) requests")
        case nil: break
        }
        if unreachable.requests == 1, let staleUse = expected.staleUse {
            let isSo =
                staleUse == "allowed"
                ? unreachable.text == "stored" : unreachable.refusal?.contains("'\(staleUse)'") == true
            expect(isSo, "stale_use", staleUse, came)
        }
        if let response = unreachable.response, let age = expected.age {
            let milliseconds = response.ageMilliseconds
            expect(milliseconds == Int64((age * 1000).rounded()), "age", "\(age) s", "\(milliseconds) ms")
        }
        if case .number(let ttl) = expected.ttl, let timeToLive = unreachable.response?.outcome.timeToLive {
            expect(timeToLive == Int64(ttl.rounded(.down)), "ttl", "\(ttl)", "\(timeToLive)")
        }
        guard expected.verdict != .staleWhileRevalidate, unreachable.requests == 1, let isUsed = expected.staleOnError
        else {
            return findings
        }
        let onError = try await response(to: instant, .status(.internalServerError, "error"))
        expect(onError.text == (isUsed ? "stored" : "error"), "stale_on_error", "\(isUsed)", onError.text ?? "nothing")
        return findings
    }

    private func response(
        to instant: ExpiryFixture.Instant,
        _ reply: ScriptedTransport.Reply
    ) async throws -> (text: String?, response: CacheResponse?, refusal: String?, requests: Int) {
        clock.set(to: Timestamp(milliseconds: try instant.milliseconds(of: fixture.stored)))
        let transport = ScriptedTransport()
        transport.script(Self.url, repeating: reply)
        return try await withEngine(transport) { engine in
            do {
                let response = try await engine.respond(to: CacheRequest(head: ExpiryFixture.request(instant.request)))
                let text = String(buffer: try await response.body.collect(upTo: 100))
                return (text, response, nil, transport.requests.count)
            } catch let error as ExchangeError {
                return (nil, nil, error.message, transport.requests.count)
            }
        }
    }
}
