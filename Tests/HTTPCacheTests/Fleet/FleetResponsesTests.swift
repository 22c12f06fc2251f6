import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import HTTPCache

/// Responses of other nodes in an exchange: looked for before the origin is asked, and offered
/// after it answered.
@Suite(.timeLimit(.minutes(20))) struct FleetResponsesTests {
    /// Other nodes, as they are scripted.
    final class OtherNodes: FleetResponses {
        struct State {
            var found: PeerResponse?
            var lease: UInt64?
            var queries: [PeerQuery] = []
            var offers: [FleetOffer] = []
            var released: [Bool] = []
            var withdrawn = 0
            var position: LogPosition? = LogPosition(epoch: 1, number: 5)
            var mayHave = true
            /// How many exchanges are about to look.
            var askers = 0
            var gate: Gate?
        }

        let state = Mutex(State())

        init(gate: Gate? = nil) { hold(at: gate) }

        /// Lets looks wait.
        func hold(at gate: Gate?) { state.withLock { $0.gate = gate } }

        var isFollowing: Bool { state.withLock { $0.position != nil } }
        var position: LogPosition? { state.withLock { $0.position } }
        func mayHave(_ key: StoreKey) -> Bool {
            state.withLock { state in
                state.askers += 1
                return state.mayHave
            }
        }

        func find(_ query: PeerQuery) async -> PeerLookupResult {
            let gate = state.withLock { state in
                state.queries.append(query)
                return state.gate
            }
            try? await gate?.wait()
            return state.withLock { state in
                if let found = state.found, query.accepts(found.draft) { return .found(found) }
                return .nothing(state.lease.map { FleetLease(key: query.key, number: $0) })
            }
        }

        func offer(_ offer: FleetOffer) { state.withLock { $0.offers.append(offer) } }

        func release(_ lease: FleetLease?, of key: StoreKey, isForOthers: Bool) {
            state.withLock { $0.released.append(isForOthers) }
        }

        func withdraw(_ response: StoredResponse, selectedBy names: [String]) { state.withLock { $0.withdrawn += 1 } }
    }

    struct Node {
        let others: OtherNodes
        let transport = ScriptedTransport()
        let store = InMemoryResponseStore()
        let clock = ManualClock()
        let engine: CacheEngine

        init(
            _ others: OtherNodes = OtherNodes(),
            kind: CacheKind = .shared,
            mode: OfflineMode = .automatic,
            rules: (any ExchangeRules)? = nil
        ) {
            self.others = others
            var options = EngineOptions()
            options.hardTimeout = nil
            var parts = CacheEngine.Parts(clock: clock, sleeper: ManualDurationClock(), jitter: { 1 })
            parts.fleet = others
            engine = CacheEngine(
                store: store,
                transport: transport,
                policy: CachePolicy(kind: kind),
                credentialSecret: [UInt8](repeating: 7, count: 32),
                mode: mode,
                options: options,
                rules: rules,
                parts: parts,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        func request(_ fields: HTTPFields = [:], method: HTTPRequest.Method = .get) throws -> CacheRequest {
            CacheRequest(head: try HTTPRequest(method, url: EngineFixture.url, fields: fields))
        }

        func get(
            _ fields: HTTPFields = [:],
            method: HTTPRequest.Method = .get
        ) async throws -> (text: String, response: CacheResponse) {
            let response = try await engine.respond(to: try request(fields, method: method))
            return (String(buffer: try await response.body.collect(upTo: 1 << 20)), response)
        }

        /// A response of another node.
        func elsewhere(
            _ text: String,
            _ fields: HTTPFields = [.cacheControl: "max-age=60"],
            age: Int64 = 0,
            tags: [String] = [],
            selecting: HTTPFields = [:],
            status: HTTPResponse.Status = .ok,
            body: BodyStream? = nil
        ) throws {
            let key = try #require(engine.key(for: try request())?.inPartition(.common))
            let time = clock.now().adding(milliseconds: -1000 * age)
            let head = StoredResponseHead(
                selectingFields: selecting,
                status: status,
                fields: fields,
                requestTime: time,
                responseTime: time
            )
            let draft = ResponseDraft(
                key: key,
                head: head,
                freshUntil: time.adding(milliseconds: 60_000),
                isUsableStale: true,
                expectedLength: StatedLength(clamping: text.utf8.count),
                storedAt: time,
                tags: tags
            )
            let found = PeerResponse(draft: draft, body: body ?? BodyStream(ByteBuffer(string: text)))
            others.state.withLock { $0.found = found }
        }

        var offers: [FleetOffer] { others.state.withLock { $0.offers } }
        /// Waits until responses that clients have got are stored.
        func settle() async { while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() } }

        var queries: Int { others.state.withLock { $0.queries.count } }
        var released: [Bool] { others.state.withLock { $0.released } }
    }

    @Test func responseOfAnotherNodeIsStoredAndServedAsHit() async throws {
        let node = Node()
        try node.elsewhere("theirs", age: 20, tags: ["t"])
        let (text, response) = try await node.get()
        #expect(text == "theirs")
        #expect(response.outcome.isHit && response.outcome.detail == .fleet)
        #expect(response.age.components.seconds == 20)
        #expect(node.transport.requests.isEmpty)
        #expect(node.offers.isEmpty)
        // From now on it is this node's own, under its tag too.
        let again = try await node.get().response
        #expect(again.outcome.isHit && again.outcome.detail == nil)
        #expect(node.queries == 1)
        _ = try await node.store.invalidate(.tag("t"), .remove, at: node.clock.now())
        #expect(node.store.all.isEmpty)
    }

    @Test func manyExchangesLookOnce() async throws {
        let gate = Gate()
        let node = Node(OtherNodes(gate: gate))
        try node.elsewhere("theirs")
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await node.get().text } }
            // An exchange that comes when the peer lookup is over looks up once more.
            while node.others.state.withLock({ $0.askers }) < 100, !Task.isCancelled { await Task.yield() }
            gate.open()
            for try await text in group { #expect(text == "theirs") }
        }
        // One that was held up just before that looks once more all the same.
        #expect(node.queries < 10)
        #expect(node.transport.requests.isEmpty)
    }

    @Test func manyExchangesAskTheOriginOnceIfNothingIsFound() async throws {
        let (gate, origin) = (Gate(), Gate())
        let node = Node(OtherNodes(gate: gate))
        node.others.state.withLock { $0.lease = 7 }
        node.transport.script(EngineFixture.url, .fresh("mine", beforeHead: origin))
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await node.get().text } }
            while node.queries == 0, !Task.isCancelled { await Task.yield() }
            gate.open()
            await node.transport.waitForRequests(1)
            origin.open()
            for try await text in group { #expect(text == "mine") }
        }
        #expect(node.transport.requests.count == 1)
        // The lease goes with the offer.
        #expect(node.offers.map(\.lease?.number) == [7])
        // An exchange that comes when the peer lookup is over and the fetch has not begun looks up
        // once more, and gives its lease back.
        #expect(node.released.allSatisfy { $0 })
    }

    @Test func storedResponseIsOfferedWithThePositionBeforeTheRequest() async throws {
        let node = Node()
        let gate = Gate()
        node.transport.script(EngineFixture.url, .fresh("mine", beforeHead: gate))
        async let done = node.get()
        await node.transport.waitForRequests(1)
        node.others.state.withLock { $0.position = LogPosition(epoch: 1, number: 9) }
        gate.open()
        _ = try await done
        #expect(node.offers.map(\.fencingPosition) == [LogPosition(epoch: 1, number: 5)])
        #expect(node.offers.first?.response == node.store.all.first)
    }

    @Test func validatedResponseIsOfferedAgain() async throws {
        let node = Node()
        node.transport.script(EngineFixture.url, .fresh("mine", etag: "\"1\""))
        _ = try await node.get()
        node.clock.advance(by: .seconds(61))
        node.transport.script(EngineFixture.url, .notModified([.eTag: "\"1\"", .cacheControl: "max-age=60"]))
        _ = try await node.get()
        #expect(node.offers.count == 2)
        #expect(node.offers.last?.draft.head.responseTime == node.clock.now())
    }

    @Test func purgeWhileLookingKeepsTheResponseOut() async throws {
        let gate = Gate()
        let node = Node(OtherNodes(gate: gate))
        try node.elsewhere("theirs")
        node.transport.script(EngineFixture.url, .fresh("mine"))
        async let found = node.get()
        while node.queries == 0, !Task.isCancelled { await Task.yield() }
        _ = try await node.store.invalidate(.all, .mark(.unspecified), at: node.clock.now())
        gate.open()
        let response = try await found
        #expect(response.text == "mine")
    }

    @Test func brokenBodyLeadsToTheOrigin() async throws {
        struct Gone: Error {}
        let node = Node()
        let body = BodyStream(length: 6) {
            var parts = [ByteBuffer(string: "the")]
            return {
                guard let part = parts.popLast() else { throw Gone() }
                return part
            }
        }
        try node.elsewhere("theirs", body: body)
        node.transport.script(EngineFixture.url, .fresh("mine"))
        #expect(try await node.get().text == "mine")
        #expect(node.store.all.count == 1)
    }

    @Test func olderOrStaleResponseIsOfNoUseBesideAStoredOne() async throws {
        let node = Node()
        node.transport.script(EngineFixture.url, .fresh("mine", etag: "\"1\""))
        _ = try await node.get()
        await node.settle()
        node.clock.advance(by: .seconds(61))
        // Older than the stored one, and still fresh.
        try node.elsewhere("older", [.cacheControl: "max-age=600"], age: 100)
        node.transport.script(EngineFixture.url, .fresh("second"))
        #expect(try await node.get().text == "second")
        await node.settle()
        node.clock.advance(by: .seconds(61))
        // Newer, and stale.
        try node.elsewhere("stale", [.cacheControl: "max-age=1"], age: 30)
        node.transport.script(EngineFixture.url, .fresh("third"))
        #expect(try await node.get().text == "third")
        await node.settle()
        node.clock.advance(by: .seconds(61))
        // Newer and fresh: no request.
        try node.elsewhere("newer", age: 10)
        #expect(try await node.get().text == "newer")
        #expect(node.transport.requests.count == 3)
    }

    @Test func staleResponseIsValidatedIfNothingIsStored() async throws {
        let node = Node()
        try node.elsewhere("theirs", [.cacheControl: "max-age=1", .eTag: "\"1\""], age: 30)
        node.transport.script(EngineFixture.url, .notModified([.eTag: "\"1\"", .cacheControl: "max-age=60"]))
        #expect(try await node.get().text == "theirs")
        #expect(node.transport.requests.first?.headerFields[.ifNoneMatch] == "\"1\"")
        // One peer lookup, which found it, and none after it.
        #expect(node.queries == 1)
    }

    @Test func unreachableOriginIsNoReasonNotToLook() async throws {
        let node = Node()
        node.transport.script(EngineFixture.url, .failure(.connect), .failure(.connect))
        _ = try? await node.get()
        _ = try? await node.get()
        try node.elsewhere("theirs")
        #expect(try await node.get().text == "theirs")
    }

    @Test func otherVariantIsNotServed() async throws {
        let node = Node()
        try node.elsewhere(
            "german",
            [.cacheControl: "max-age=60", .vary: "accept-language"],
            selecting: [.acceptLanguage: "de"]
        )
        node.transport.script(
            EngineFixture.url,
            .ok("english", fields: [.cacheControl: "max-age=60", .vary: "accept-language"])
        )
        #expect(try await node.get([.acceptLanguage: "en"]).text == "english")
        #expect(try await node.get([.acceptLanguage: "de"]).text == "german")
    }

    @Test(
        arguments: [
            [.cacheControl: "no-store"], [.cacheControl: "private, max-age=60"],
            [.cacheControl: "max-age=60", .vary: "*"],
        ] as [HTTPFields]
    )
    func responseForOneCallerFreesTheOthersAtOnce(_ fields: HTTPFields) async throws {
        let node = Node()
        node.others.state.withLock { $0.lease = 7 }
        node.transport.script(EngineFixture.url, .ok("mine", fields: fields))
        _ = try await node.get()
        #expect(node.offers.isEmpty)
        #expect(node.released == [false])
    }

    @Test(
        arguments: [
            [.cacheControl: "max-age=60", .vary: "cookie"], [.cacheControl: "private, max-age=60"],
            [.cacheControl: "max-age=60", .setCookie: "a=b"],
        ] as [HTTPFields]
    )
    func privateCacheOffersNothingPrivate(_ fields: HTTPFields) async throws {
        let node = Node(kind: .private)
        node.transport.script(EngineFixture.url, .ok("mine", fields: fields))
        _ = try await node.get([.cookie: "a=b"])
        #expect(node.offers.isEmpty)
    }

    @Test func failedFetchGivesTheLeaseBack() async throws {
        let node = Node()
        node.others.state.withLock { $0.lease = 7 }
        node.transport.script(EngineFixture.url, .failure(.connect))
        _ = try? await node.get()
        await node.engine.shutDown()
        #expect(node.released == [true])
    }

    @Test func errorIsNotOffered() async throws {
        let node = Node()
        node.transport.script(EngineFixture.url, .status(.notFound, "gone", fields: [.cacheControl: "max-age=60"]))
        _ = try await node.get()
        #expect(node.offers.isEmpty)
    }

    @Test func nothingIsLookedForIfThisNodeDoesNotFollowOrIsOffline() async throws {
        let node = Node()
        node.others.state.withLock { $0.position = nil }
        node.transport.script(EngineFixture.url, .fresh("mine"))
        _ = try await node.get()
        #expect(node.queries == 0 && node.offers.isEmpty)
        let offline = Node(mode: .offline)
        try offline.elsewhere("theirs")
        _ = try? await offline.get()
        #expect(offline.queries == 0)
    }

    @Test func ruleKeepsResponsesHereAndTheirsAway() async throws {
        let node = Node(rules: TestRules { $0.isForFleet = false })
        try node.elsewhere("theirs")
        node.transport.script(EngineFixture.url, .fresh("mine"))
        #expect(try await node.get().text == "mine")
        #expect(node.queries == 0 && node.offers.isEmpty)
        #expect(try await node.get().response.outcome.isHit)
    }

    @Test func credentialsAndConditionsOfTheCaller() async throws {
        let node = Node()
        try node.elsewhere("theirs", [.cacheControl: "max-age=60", .eTag: "\"1\""])
        // Nothing that everybody may have is served to a principal without the origin's leave.
        node.transport.script(EngineFixture.url, .ok("hers", fields: [.cacheControl: "private"]))
        #expect(try await node.get([.authorization: "Bearer a"]).text == "hers")
        let validated = try await node.get([.ifNoneMatch: "\"1\""]).response
        #expect(validated.head.status == .notModified && node.transport.requests.count == 1)
    }
}
