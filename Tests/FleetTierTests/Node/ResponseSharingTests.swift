import FleetTesting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import TestSupport
import Testing

@testable import FleetTier

/// Nodes that share responses as they do in a service, with engines in memory and one origin.
@Suite(.timeLimit(.minutes(20))) struct ResponseSharingTests {
    private struct Fleet: Sendable {
        let log = InMemoryLogEngine(clock: ContinuousClock()) {
            EngineTime(milliseconds: SystemWallClock().now().milliseconds)
        }
        let values = InMemoryValueEngine(clock: ContinuousClock()) {
            EngineTime(milliseconds: SystemWallClock().now().milliseconds)
        }
        /// The origin of all nodes.
        let origin = ScriptedTransport()

        func node(_ number: Int, ahead: Duration = .zero, wait: Duration = .seconds(600)) throws -> Node {
            try Node(number, self, ahead, wait)
        }
    }

    private struct AheadClock: WallClock {
        let ahead: Duration
        func now() -> Timestamp { SystemWallClock().now().adding(ahead) }
    }

    private struct Node: Sendable {
        let store = JournaledStore()
        let values: InMemoryFleetValues
        let link: InMemoryFleetLog
        let sharing: InvalidationSharing
        let responses: ResponseSharing
        let engine: CacheEngine
        let wall: AheadClock

        init(_ number: Int, _ fleet: Fleet, _ ahead: Duration, _ wait: Duration) throws {
            link = fleet.log.makeLog()
            values = fleet.values.makeValues()
            wall = AheadClock(ahead: ahead)
            let namespace = try #require(FleetNamespace("shop"))
            let keys = try #require(FleetKeys(secret: [UInt8](repeating: 7, count: 32)))
            let purges = PurgeView()
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            sharing = InvalidationSharing(
                log: store,
                engine: link,
                sealer: LogSealer(keys: keys, namespace: namespace),
                settings: .init(namespace: namespace, node: try #require(NodeName("gw-\(number)")), quorum: 0),
                purges: purges,
                wall: wall,
                logger: logger
            )
            var settings = ResponseSharing.Settings()
            // Time-outs are not the subject, and the machine may be busy.
            settings.timeout = .seconds(60)
            settings.wait = wait
            settings.lease = .seconds(600)
            responses = ResponseSharing(
                values: values,
                purges: purges,
                log: store,
                store: store,
                keys: keys,
                namespace: namespace,
                settings: settings,
                wall: wall,
                logger: logger
            )
            var options = EngineOptions()
            options.hardTimeout = nil
            var parts = CacheEngine.Parts(clock: wall)
            parts.fleet = responses
            engine = CacheEngine(
                store: store,
                transport: fleet.origin,
                policy: CachePolicy(kind: .shared),
                credentialSecret: [UInt8](repeating: UInt8(number), count: 32),
                options: options,
                parts: parts,
                logger: logger
            )
        }

        func get(_ path: String, _ fields: HTTPFields = [:]) async throws -> (text: String, response: CacheResponse) {
            let head = HTTPRequest(
                method: .get,
                scheme: "https",
                authority: "a.example",
                path: path,
                headerFields: fields
            )
            let response = try await engine.respond(to: CacheRequest(head: head))
            return (String(buffer: try await response.body.collect(upTo: 1 << 24)), response)
        }

        func expect(
            _ text: String,
            at path: String,
            _ fields: HTTPFields = [:],
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let found = try await get(path, fields).text
            #expect(found == text, sourceLocation: sourceLocation)
        }

        func purge(_ scope: InvalidationScope) async throws {
            _ = try await store.invalidate(scope, .mark(.unspecified), at: wall.now())
        }

        func wait(until isSo: @Sendable (Node) -> Bool) async throws {
            try await waitUntil { isSo(self) }
        }

        func untilFollowing() async throws { try await wait { $0.responses.isFollowing } }
        func untilPut(_ count: Int = 1) async throws {
            try await wait { $0.responses.counts[.put] + $0.responses.counts[.older] >= count }
        }
    }

    private func run(_ nodes: [Node], _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for node in nodes {
                group.addTask { await node.sharing.run() }
                group.addTask { await node.responses.run() }
            }
            defer { group.cancelAll() }
            for node in nodes { try await node.untilFollowing() }
            try await body()
        }
    }

    private func url(_ path: String) -> String { "https://a.example\(path)" }

    private let fresh: HTTPFields = [.cacheControl: "max-age=600"]

    @Test(arguments: [0, 1, 65_536, 65_537, 1_000_000])
    func whatOneFetchedTheOthersHave(_ length: Int) async throws {
        let fleet = Fleet()
        let nodes = try (0..<3).map { try fleet.node($0) }
        let text = String((0..<length).map { Character(UnicodeScalar(UInt8(33 + $0 * $0 % 89))) })
        fleet.origin.script(url("/x"), .ok(text, fields: fresh))
        try await run(nodes) {
            try await nodes[0].expect(text, at: "/x")
            try await nodes[0].untilPut()
            for node in nodes.dropFirst() {
                let (found, response) = try await node.get("/x")
                #expect(found == text && response.outcome.detail == .fleet)
                #expect(node.responses.counts[.hit] == 1)
            }
            #expect(fleet.origin.requests.count == 1)
        }
    }

    @Test func variantsAreFoundByTheirFields() async throws {
        let fleet = Fleet()
        let nodes = try (0..<2).map { try fleet.node($0) }
        var fields = fresh
        fields[.vary] = "Accept-Language"
        fleet.origin.script(url("/x"), .ok("deutsch", fields: fields), .ok("english", fields: fields))
        try await run(nodes) {
            _ = try await nodes[0].get("/x", [.acceptLanguage: "de"])
            _ = try await nodes[0].get("/x", [.acceptLanguage: "en"])
            try await nodes[0].untilPut(2)
            try await nodes[1].expect("english", at: "/x", [.acceptLanguage: "en"])
            try await nodes[1].expect("deutsch", at: "/x", [.acceptLanguage: "de"])
            #expect(fleet.origin.requests.count == 2)
        }
    }

    @Test func aPurgedResponseIsNotTakenAgain() async throws {
        let fleet = Fleet()
        let nodes = try (0..<3).map { try fleet.node($0) }
        fleet.origin.script(url("/x"), .ok("old", fields: fresh), .ok("new", fields: fresh))
        try await run(nodes) {
            _ = try await nodes[0].get("/x")
            try await nodes[0].untilPut()
            try await nodes[2].purge(.target(try TargetURI(url("/x"))))
            try await nodes[1].wait { $0.sharing.status.counts.applied == 1 }
            // The old one is still there, with an old fencing position.
            try await nodes[1].expect("new", at: "/x")
            #expect(nodes[1].responses.counts[.old] >= 1)
            try await nodes[1].untilPut()
            try await nodes[2].wait { $0.responses.isFollowing }
            try await nodes[2].expect("new", at: "/x")
            #expect(fleet.origin.requests.count == 2)
        }
    }

    @Test func aResponseThatOwnRoutesLeadToIsNotTakenAgain() async throws {
        let fleet = Fleet()
        let nodes = try (0..<2).map { try fleet.node($0) }
        nodes[1].sharing.resolve(by: GatewayPlaces())
        for path in ["/x", "/y"] {
            fleet.origin.script(url(path), .ok("old", fields: fresh), .ok("new", fields: fresh))
        }
        try await run(nodes) {
            for path in ["/x", "/y"] { _ = try await nodes[0].get(path) }
            try await nodes[0].untilPut(2)
            for path in ["/x", "/y"] {
                try await nodes[0].purge(.target(TargetURI("http://gw.example\(path)")))
            }
            try await nodes[1].wait { $0.sharing.status.counts.applied == 2 }
            try await nodes[1].expect("new", at: "/x")
            // A node that joins knows it from the retained log.
            let late = try fleet.node(2)
            late.sharing.resolve(by: GatewayPlaces())
            try await run([late]) { try await late.expect("new", at: "/y") }
        }
    }

    @Test func aPurgeOfThisNodeCountsBeforeItIsPublished() async throws {
        let fleet = Fleet()
        let nodes = try (0..<2).map { try fleet.node($0) }
        fleet.origin.script(url("/x"), .ok("old", fields: fresh), .ok("new", fields: fresh))
        try await run([nodes[0]]) {
            _ = try await nodes[0].get("/x")
            try await nodes[0].untilPut()
            // The other one follows, and publishes nothing.
            try await nodes[1].sharing.connect()
            while try await nodes[1].sharing.read(wait: .zero) > 0 {}
            #expect(nodes[1].responses.isFollowing)
            try await nodes[1].purge(.target(try TargetURI(url("/x"))))
            try await nodes[1].expect("new", at: "/x")
        }
    }

    @Test func aNodeThatJoinsKnowsThePurgesBeforeIt() async throws {
        let fleet = Fleet()
        let first = try fleet.node(0)
        for path in ["/kept", "/purged"] {
            fleet.origin.script(url(path), .ok("old", fields: fresh), .ok("new", fields: fresh))
        }
        try await run([first]) {
            _ = try await first.get("/kept")
            _ = try await first.get("/purged")
            try await first.untilPut(2)
            try await first.purge(.target(try TargetURI(url("/purged"))))
            try await first.wait { $0.sharing.status.counts.published == 1 }
            let second = try fleet.node(1)
            try await run([second]) {
                try await second.expect("old", at: "/kept")
                try await second.expect("new", at: "/purged")
            }
        }
    }

    @Test func manyNodesAskTheOriginOnce() async throws {
        let fleet = Fleet()
        let nodes = try (0..<8).map { try fleet.node($0, wait: .seconds(600)) }
        let gate = Gate()
        fleet.origin.script(url("/x"), .ok("one", fields: fresh, beforeHead: gate))
        try await run(nodes) {
            try await withThrowingTaskGroup(of: String.self) { group in
                for node in nodes { for _ in 0..<20 { group.addTask { try await node.get("/x").text } } }
                await fleet.origin.waitForRequests(1)
                gate.open()
                for try await text in group { #expect(text == "one") }
            }
            #expect(fleet.origin.requests.count == 1)
        }
    }

    @Test func aNodeThatGivesUpLetsAnotherOneLead() async throws {
        let fleet = Fleet()
        let nodes = try (0..<2).map { try fleet.node($0, wait: .seconds(600)) }
        let gate = Gate()
        fleet.origin.script(url("/x"), .failure(.connect, beforeHead: gate), .ok("one", fields: fresh))
        try await run(nodes) {
            async let first = try? nodes[0].get("/x")
            await fleet.origin.waitForRequests(1)
            async let second = nodes[1].get("/x")
            try await waitUntil { fleet.values.callCount >= 5 }
            gate.open()
            let (response, failed) = (try await second, await first)
            #expect(response.text == "one" && failed == nil)
        }
    }

    /// The node that asks the origin continues meanwhile.
    @Test func oneTimeOutDoesNotEndTheWaitForAnotherNode() async throws {
        let fleet = Fleet()
        let nodes = try (0..<2).map { try fleet.node($0, wait: .seconds(6000)) }
        let gate = Gate()
        fleet.origin.script(url("/x"), .ok("one", fields: fresh, beforeHead: gate))
        try await run(nodes) {
            async let first = nodes[0].get("/x")
            await fleet.origin.waitForRequests(1)
            async let second = nodes[1].get("/x")
            try await waitUntil { fleet.values.callCount >= 5 }
            nodes[1].values.loseReplies(1)
            try await nodes[1].wait { $0.responses.counts[.timedOut] == 1 }
            gate.open()
            let texts = (try await first.text, try await second.text)
            #expect(texts == ("one", "one") && fleet.origin.requests.count == 1)
        }
    }

    @Test func aResponseForOneCallerKeepsNobodyWaiting() async throws {
        let fleet = Fleet()
        let nodes = try (0..<2).map { try fleet.node($0, wait: .seconds(600)) }
        fleet.origin.script(url("/x"), repeating: .ok("mine", fields: [.cacheControl: "no-store"]))
        try await run(nodes) {
            for node in nodes { for _ in 0..<3 { try await node.expect("mine", at: "/x") } }
            #expect(fleet.origin.requests.count == 6)
            // Looked for once by each node, and remembered.
            for node in nodes { #expect(node.responses.counts[.miss] == 1) }
        }
    }

    @Test func anEngineThatIsAwayCostsNoRequest() async throws {
        let fleet = Fleet()
        let nodes = try (0..<2).map { try fleet.node($0) }
        fleet.origin.script(url("/x"), repeating: .ok("mine", fields: fresh))
        try await run(nodes) {
            fleet.values.setReachable(false)
            for node in nodes { try await node.expect("mine", at: "/x") }
            #expect(fleet.origin.requests.count == 2)
            for node in nodes { #expect(node.responses.counts[.away] >= 1) }
        }
    }

    @Test func aBodyThatLostAChunkIsFetched() async throws {
        let fleet = Fleet()
        let nodes = try (0..<2).map { try fleet.node($0) }
        let text = String(repeating: "x", count: 300_000)
        fleet.origin.script(url("/x"), repeating: .ok(text, fields: fresh))
        try await run(nodes) {
            _ = try await nodes[0].get("/x")
            try await nodes[0].untilPut()
            fleet.values.evict { $0.text.hasSuffix(":3") }
            try await nodes[1].expect(text, at: "/x")
            #expect(fleet.origin.requests.count == 2)
            #expect(nodes[1].responses.counts[.incomplete] == 1)
        }
    }

    @Test func clocksThatDifferMakeNoAge() async throws {
        let fleet = Fleet()
        let nodes = [
            try fleet.node(0), try fleet.node(1, ahead: .seconds(600)), try fleet.node(2, ahead: .seconds(-600)),
        ]
        fleet.origin.script(url("/x"), .ok("one", fields: [.cacheControl: "max-age=300"]))
        try await run(nodes) {
            _ = try await nodes[1].get("/x")
            try await nodes[1].untilPut()
            for node in [nodes[0], nodes[2]] {
                let response = try await node.get("/x").response
                #expect(response.outcome.detail == .fleet && response.age < .seconds(60))
            }
        }
    }

    @Test func nothingReadableIsOnTheEngine() async throws {
        let fleet = Fleet()
        let node = try fleet.node(0)
        fleet.origin.script(
            url("/secret-path"),
            .ok("secret-body", fields: [.cacheControl: "max-age=9", .eTag: "\"secret-tag\""])
        )
        try await run([node]) {
            _ = try await node.get("/secret-path")
            try await node.untilPut()
            #expect(!fleet.values.content.isEmpty)
            for (name, value) in fleet.values.content {
                #expect(!name.text.contains("secret"))
                #expect(!String(buffer: value).contains("secret"))
            }
        }
    }
}
