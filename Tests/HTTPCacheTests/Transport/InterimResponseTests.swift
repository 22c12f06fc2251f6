import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

/// Interim responses (1xx) and the callers that they reach. RFC 9110 §15.2
@Suite(.timeLimit(.minutes(20))) struct InterimResponseTests {
    /// Mutant: the caller's closure is sent with the request as it is.
    @Test func interimResponsesDoNotReachFinishedCaller() async throws {
        let transport = InformingTransport()
        let (engine, sleeper, clock) = transport.engine { $0.softTimeout = .seconds(1) }
        let received = Mutex(0)
        var request = try EngineFixture().request()
        request.onInformational = { _ in received.withLock { $0 += 1 } }
        transport.next.withLock { $0 = .success(.init(status: .ok, headerFields: [.cacheControl: "max-age=60"])) }
        let first = try await engine.respond(to: request)
        _ = try await first.body.collect(upTo: 100)
        #expect(received.withLock { $0 } == 1)
        clock.advance(by: .seconds(61))
        let gate = Gate()
        transport.gate.withLock { $0 = gate }
        let slow = Task { [request] in try await engine.respond(to: request) }
        await sleeper.sleepers(atLeast: 1)
        sleeper.advance(by: .seconds(1))
        #expect(try await slow.value.outcome.detail == .slow)
        gate.open()
        while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        #expect(received.withLock { $0 } == 1)
    }

    /// Mutant: the request that is kept for probes keeps its closure.
    @Test func interimResponsesToProbeReachNoCaller() async throws {
        let transport = InformingTransport()
        let (engine, sleeper, _) = transport.engine { _ in }
        let received = Mutex(0)
        var request = try EngineFixture().request()
        request.onInformational = { _ in received.withLock { $0 += 1 } }
        transport.next.withLock { $0 = .failure(TransportError(code: .connect, message: "")) }
        await #expect(throws: ExchangeError.self) { try await engine.respond(to: request) }
        #expect(received.withLock { $0 } == 1)
        await sleeper.sleepers(atLeast: 1)
        transport.next.withLock { $0 = .success(.init(status: .ok, headerFields: [.cacheControl: "max-age=60"])) }
        sleeper.advance(by: .seconds(1))
        while transport.count.withLock({ $0 }) < 2 || engine.inFlightFetchCount > 0, !Task.isCancelled {
            await Task.yield()
        }
        #expect(received.withLock { $0 } == 1)
    }

    @Test func interimResponsesOmitFieldsRemovedByRules() throws {
        let rules = TestRules { (settings: inout ExchangeSettings) in
            settings.responseFields.removed = [.server]
            settings.responseFields.set = [.from: "holdfast"]
        }
        let fixture = EngineFixture(rules: rules)
        let received = Mutex<[HTTPFields]>([])
        var request = try fixture.request()
        request.onInformational = { interim in received.withLock { $0.append(interim.headerFields) } }
        let prepared = try #require(fixture.engine.prepare(request))
        let fields: HTTPFields = [.server: "x", .from: "y", .location: "</a>"]
        prepared.sending().onInformational?(HTTPResponse(status: .earlyHints, headerFields: fields))
        #expect(received.withLock { $0 } == [[.location: "</a>"]])
    }
}

/// Sends a 103 before each response, late if there is a gate.
private final class InformingTransport: Transport {
    let next = Mutex<Result<HTTPResponse, TransportError>>(.success(HTTPResponse(status: .ok)))
    let gate = Mutex<Gate?>(nil)
    let count = Mutex(0)

    func engine(_ change: (inout EngineOptions) -> Void) -> (CacheEngine, ManualDurationClock, ManualClock) {
        var options = EngineOptions()
        options.hardTimeout = nil
        change(&options)
        let (sleeper, clock) = (ManualDurationClock(), ManualClock())
        let engine = CacheEngine(
            store: InMemoryResponseStore(),
            transport: self,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            parts: .init(clock: clock, sleeper: sleeper, jitter: { 1 }),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        return (engine, sleeper, clock)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if let gate = gate.withLock({ $0 }) { try await gate.wait() }
        request.onInformational?(HTTPResponse(status: .earlyHints))
        count.withLock { $0 += 1 }
        return TransportResponse(head: try next.withLock { $0 }.get(), body: BodyStream(ByteBuffer(string: "body")))
    }
}
