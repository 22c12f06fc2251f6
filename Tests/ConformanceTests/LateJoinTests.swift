import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Testing

/// Several requests may share one response only if the cache may reuse it for each of them. RFC
/// 9111 §4
@Suite(.timeLimit(.minutes(20))) struct LateJoinTests {
    /// A request that arrives after the head of another's response must not reuse that response
    /// without validation.
    @Test(
        arguments: [
            ("no-cache", 0, [:]), ("max-age=0", 0, [:]), ("max-age=1", 3, [:]),
            ("max-age=3600", 0, [.cacheControl: "no-cache"]),
            ("max-age=3600", 3, [.cacheControl: "max-age=1"]),
        ] as [(String, Int, HTTPFields)]
    )
    func doesNotJoinResponseThatMayNotBeReused(_ lifetime: String, _ seconds: Int, _ wishes: HTTPFields) async throws {
        let transport = ScriptedTransport()
        let clock = ManualClock()
        let engine = CacheEngine(
            store: InMemoryResponseStore(),
            transport: transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: [UInt8](repeating: 7, count: 32),
            parts: .init(clock: clock),
            logger: Logger(label: "conformance") { _ in SwiftLogNoOpLogHandler() }
        )
        let gate = Gate()
        let fields: HTTPFields = [.cacheControl: lifetime]
        transport.script(
            "http://origin.example/",
            .ok("first", fields: fields, beforeEnd: gate),
            .ok("second", fields: fields)
        )
        let first = try await engine.respond(to: CacheRequest(head: Self.head([:])))
        clock.advance(by: .seconds(seconds))
        let second = try await engine.respond(to: CacheRequest(head: Self.head(wishes)))
        gate.open()
        let text = String(buffer: try await first.body.collect(upTo: 100))
        let otherText = String(buffer: try await second.body.collect(upTo: 100))
        #expect(text == "first")
        #expect(otherText == "second")
    }

    private static func head(_ fields: HTTPFields) -> HTTPRequest {
        HTTPRequest(method: .get, scheme: "http", authority: "origin.example", path: "/", headerFields: fields)
    }
}
