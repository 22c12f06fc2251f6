import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import TestSupport
import Testing

@testable import HTTPCache

/// `cut-off: validate`: fresh responses of a node that may have missed purges.
@Suite(.timeLimit(.minutes(20))) struct ContactTests {
    private struct Node {
        let contact: ContactLease
        let transport = ScriptedTransport()
        let engine: CacheEngine

        init(_ term: ContactLease.Term = .whileConfirmed) {
            contact = ContactLease(term)
            var options = EngineOptions()
            options.hardTimeout = nil
            var parts = CacheEngine.Parts(clock: ManualClock(), sleeper: ManualDurationClock())
            parts.contact = contact
            engine = CacheEngine(
                store: InMemoryResponseStore(),
                transport: transport,
                policy: CachePolicy(kind: .shared),
                credentialSecret: [UInt8](repeating: 7, count: 32),
                options: options,
                parts: parts,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        func request(_ fields: HTTPFields = [:]) throws -> CacheRequest {
            CacheRequest(head: try HTTPRequest(url: EngineFixture.url, fields: fields))
        }

        func get(_ fields: HTTPFields = [:]) async throws -> (text: String, outcome: CacheOutcome) {
            let response = try await engine.respond(to: try request(fields))
            return (String(buffer: try await response.body.collect(upTo: 1 << 20)), response.outcome)
        }

        /// The conditions under which an event loop would serve the same again.
        func conditions() throws -> ImmediateHit.Conditions? {
            let prepared = try #require(engine.prepare(try request()))
            guard case .serve(let hit) = engine.attempt(on: prepared).begin() else { return nil }
            return hit.conditions
        }
    }

    @Test func freshResponseIsServedWhileTheLeaseLastsAndValidatedAfterIt() async throws {
        let node = Node()
        node.transport.script(EngineFixture.url, .fresh("one", etag: "\"1\""))
        _ = try await node.get()
        node.transport.script(EngineFixture.url, .notModified([.eTag: "\"1\"", .cacheControl: "max-age=60"]))
        let validated = try await node.get().outcome
        #expect(validated.forwardStatus == 304 && node.transport.requests.count == 2)
        node.contact.extend(from: .now, by: .seconds(3600))
        let hit = try await node.get().outcome
        #expect(hit.isHit && hit.detail == nil && node.transport.requests.count == 2)
        // Whether the next request may be served the same is seen then.
        #expect(try node.conditions() == nil)
        let ended = Node()
        ended.contact.extend(from: .now - .seconds(10), by: .seconds(5))
        #expect(!ended.contact.holds)
    }

    @Test func unreachableOriginLeavesTheFreshResponseWhichSaysSo() async throws {
        let node = Node()
        node.transport.script(EngineFixture.url, .fresh("one"))
        _ = try await node.get()
        node.transport.script(EngineFixture.url, repeating: .failure(.connect))
        for _ in 0..<3 {
            let (text, outcome) = try await node.get()
            #expect(text == "one" && outcome.detail == .cutOff)
        }
        let cached = try await node.get([.cacheControl: "only-if-cached"]).outcome
        #expect(cached.detail == .cutOff)
    }

    @Test func callersDoNotShareAFetchThatMayBeOlderThanAPurge() async throws {
        let node = Node()
        let gate = Gate()
        node.transport.script(EngineFixture.url, repeating: .fresh("one", beforeHead: gate))
        async let first = node.get()
        async let second = node.get()
        await node.transport.waitForRequests(2)
        gate.open()
        let texts = try await [first.text, second.text]
        #expect(texts == ["one", "one"])
    }

    /// A node that starts validates until it has read what was purged while it was down. Then its
    /// hits are as fast as without other nodes.
    @Test func startingNodeServesNothingFreshWithoutValidation() async throws {
        let node = Node(.fromStart)
        node.transport.script(EngineFixture.url, .fresh("one", etag: "\"1\""))
        _ = try await node.get()
        node.transport.script(EngineFixture.url, .fresh("two", etag: "\"2\""))
        #expect(node.contact.isStarting)
        #expect(try await node.get().text == "two")
        let starting = try #require(node.engine.prepare(try node.request()))
        #expect(starting.contact == .none)
        node.contact.endStart()
        #expect(!node.contact.isStarting)
        let (text, outcome) = try await node.get()
        #expect(text == "two" && outcome.isHit && outcome.detail == nil && node.transport.requests.count == 2)
        let started = try #require(node.engine.prepare(try node.request()))
        #expect(started.contact == .lasting)
    }

    @Test func leaseIsNeverShortened() {
        let contact = ContactLease()
        #expect(!contact.holds)
        contact.extend(from: .now, by: .seconds(3600))
        contact.extend(from: .now - .seconds(100), by: .seconds(5))
        #expect(contact.holds)
    }
}
