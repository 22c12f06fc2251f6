import Foundation
import HTTPCache
import HTTPCacheSemantics
import Holdfast
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import TestSupport
import Testing

/// The fixtures of `Tests/Fixtures/expiry`, run with an engine, a store on disk, and a clock that
/// the test moves.
@Suite(.timeLimit(.minutes(20))) struct ExpiryEndToEndTests {
    @Test(arguments: try ExpiryFixture.all().filter { $0.storable ?? true })
    func fixtureHoldsInStoreAndEngine(fixture: ExpiryFixture) async throws {
        for cache in fixture.caches {
            let folder = try TemporaryFolder()
            let run = FixtureRun(fixture: fixture, kind: cache == .shared ? .shared : .private, folder: folder.store)
            try await run.store()
            for instant in fixture.then { try await run.check(instant) }
        }
    }
}

/// One fixture in one kind of cache.
private struct FixtureRun {
    let fixture: ExpiryFixture
    let kind: CacheKind
    let folder: String
    let clock = ManualClock()
    let transport = MovingTransport()
    static let url = "https://a.example/"

    /// Opens the store anew each time, as a new process would.
    func withEngine<Value>(_ body: (CacheManager, CacheEngine) async throws -> Value) async throws -> Value {
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let store = try await CacheManager.open(at: folder, clock: clock, logger: quiet)
        let engine = CacheEngine(
            store: store.responses,
            transport: transport,
            policy: CachePolicy(kind: kind),
            credentialSecret: [UInt8](repeating: 1, count: 32),
            parts: .init(clock: clock),
            logger: quiet
        )
        do {
            let value = try await body(store, engine)
            await engine.shutDown()
            try await store.close()
            return value
        } catch {
            await engine.shutDown()
            try await store.close()
            throw error
        }
    }

    func store() async throws {
        clock.set(to: Timestamp(milliseconds: try fixture.stored.requestMilliseconds()))
        let responseTime = Timestamp(milliseconds: try fixture.stored.responseMilliseconds())
        transport.reply = { [clock] in
            clock.set(to: responseTime)
            return .status(.init(code: fixture.stored.status ?? 200), "stored", fields: fields(fixture.stored.response))
        }
        try await withEngine { store, engine in
            var request = try request(fixture.stored.request)
            if let expiry = try fixture.stored.explicitExpiryMilliseconds() {
                request.storage = .expiring(expiry == .max ? .never : .at(Timestamp(milliseconds: expiry)))
            }
            _ = try await engine.respond(to: request).body.collect(upTo: 100)
            if fixture.stored.invalidated == true {
                _ = try await store.responses.invalidate(
                    .target(try TargetURI(Self.url)),
                    keepingForOffline: true,
                    at: clock.now()
                )
            }
        }
    }

    func check(_ instant: ExpiryFixture.Instant) async throws {
        let context = Comment(rawValue: "\(fixture.name) (\(kind)) at \(instant.at)")
        let now = Timestamp(milliseconds: try instant.milliseconds(of: fixture.stored))
        clock.set(to: now)
        let asked = Mutex(0)
        transport.reply = {
            asked.withLock { $0 += 1 }
            return .failure(.connect)
        }
        let expect = instant.expect
        let result = try await withEngine { _, engine in try await self.exchange(engine, instant) }
        let requests = asked.withLock { $0 }
        switch expect.verdict {
        case .fresh, .staleAllowed:
            #expect(requests == 0 && result.text == "stored", context)
        // The background validation may have begun or not.
        case .staleWhileRevalidate: #expect(result.text == "stored", context)
        case .validate: #expect(requests == 1, context)
        case nil: break
        }
        if requests == 1, let staleUse = expect.staleUse {
            #expect(
                staleUse == "allowed" ? result.text == "stored" : result.refusal?.contains("'\(staleUse)'") == true,
                context
            )
        }
        if let response = result.response {
            if let age = expect.age { #expect(response.ageMilliseconds == Int64((age * 1000).rounded()), context) }
            if case .number(let ttl) = expect.ttl {
                #expect(response.outcome.timeToLive == Int64(ttl.rounded(.down)), context)
            }
        }
        guard expect.verdict != .staleWhileRevalidate, requests == 1, let staleOnError = expect.staleOnError else {
            return
        }
        clock.set(to: now)
        transport.reply = { .status(.internalServerError, "error") }
        let onError = try await withEngine { _, engine in try await self.exchange(engine, instant) }
        #expect(onError.text == (staleOnError ? "stored" : "error"), context)
    }

    private func exchange(
        _ engine: CacheEngine,
        _ instant: ExpiryFixture.Instant
    ) async throws -> (text: String?, response: CacheResponse?, refusal: String?) {
        do {
            let response = try await engine.respond(to: try request(instant.request))
            return (String(buffer: try await response.body.collect(upTo: 100)), response, nil)
        } catch let error as ExchangeError {
            return (nil, nil, error.message)
        }
    }

    private func request(_ lines: [ExpiryFixture.Line]?) throws -> CacheRequest {
        CacheRequest(head: try HTTPRequest(url: Self.url, fields: fields(lines ?? [])))
    }

    private func fields(_ lines: [ExpiryFixture.Line]) -> HTTPFields {
        var fields = HTTPFields()
        for line in lines {
            if let name = HTTPField.Name(line.name) { fields.append(HTTPField(name: name, value: line.value)) }
        }
        return fields
    }
}

/// Sends the response that is set at that moment.
private final class MovingTransport: Transport {
    private let current = Mutex<@Sendable () -> ScriptedTransport.Reply>({ .failure(.other) })

    var reply: @Sendable () -> ScriptedTransport.Reply {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let scripted = ScriptedTransport()
        scripted.script("https://a.example/", reply())
        return try await scripted.send(request)
    }
}
