import FleetTesting
import FleetTier
import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import Logging
import NIOCore
import TestSupport
import Testing

/// The cookbook's case of several gateways, with a server in memory.
@Suite(.timeLimit(.minutes(20))) struct CookbookFleetTests {
    /// The server, and the origin of all gateways.
    private struct World: Sendable {
        let log = InMemoryLogEngine(clock: ContinuousClock()) {
            EngineTime(milliseconds: SystemWallClock().now().milliseconds)
        }
        let values = InMemoryValueEngine(clock: ContinuousClock()) {
            EngineTime(milliseconds: SystemWallClock().now().milliseconds)
        }
        let origin = ScriptedTransport()
    }

    /// A gateway with the file's rules.
    private struct Gateway: Sendable {
        let store = JournaledStore()
        let sharing: InvalidationSharing
        let responses: ResponseSharing
        let engine: CacheEngine

        init(_ name: String, _ file: Configuration, _ world: World) throws {
            let namespace = try #require(file.fleet.namespace.flatMap { FleetNamespace($0) })
            let keys = try #require(FleetKeys(secret: [UInt8](repeating: 7, count: 32)))
            let purges = PurgeView()
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            sharing = InvalidationSharing(
                log: store,
                engine: world.log.makeLog(),
                sealer: LogSealer(keys: keys, namespace: namespace),
                settings: .init(namespace: namespace, node: try #require(NodeName(name))),
                purges: purges,
                logger: logger
            )
            var settings = ResponseSharing.Settings()
            // The machine may be busy.
            settings.timeout = .seconds(60)
            responses = ResponseSharing(
                values: world.values.makeValues(),
                purges: purges,
                log: store,
                store: store,
                keys: keys,
                namespace: namespace,
                settings: settings,
                logger: logger
            )
            var parts = CacheEngine.Parts()
            parts.fleet = file.fleet.share == .responses ? responses : nil
            engine = CacheEngine(
                store: store,
                transport: world.origin,
                policy: CachePolicy(kind: .shared),
                credentialSecret: [UInt8](repeating: 7, count: 32),
                options: file.options,
                rules: file.rules,
                parts: parts,
                logger: logger
            )
        }

        func get(_ path: String) async throws -> (text: String, response: CacheResponse) {
            let head = HTTPRequest(method: .get, scheme: "https", authority: "shop.example.com", path: path)
            let response = try await engine.respond(to: CacheRequest(head: head))
            return (String(buffer: try await response.body.collect(upTo: 1 << 20)), response)
        }

        func wait(until isSo: @Sendable (Gateway) -> Bool) async throws {
            try await waitUntil { isSo(self) }
        }
    }

    @Test func oneRequestServesAllGatewaysAndOnePurgeReachesThem() async throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let file = try Configuration(contentsOf: root.path + "/Examples/Cookbook/11-several-gateways.yaml")
        let world = World()
        let gateways = try ["gw-1", "gw-2"].map { try Gateway($0, file, world) }
        world.origin.script("https://shop.example.com/cart", .ok("old"), .ok("new"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for gateway in gateways {
                group.addTask { await gateway.sharing.run() }
                group.addTask { await gateway.responses.run() }
            }
            defer { group.cancelAll() }
            for gateway in gateways { try await gateway.wait { $0.responses.isFollowing } }
            #expect(try await gateways[0].get("/cart").text == "old")
            try await gateways[0].wait { $0.responses.counts[.put] == 1 }
            let shared = try await gateways[1].get("/cart")
            #expect(shared.text == "old" && shared.response.outcome.detail == .fleet)
            #expect(world.origin.requests.count == 1)
            _ = try await gateways[0].store.invalidate(
                .tag("shop"),
                .mark(.unspecified),
                at: SystemWallClock().now()
            )
            try await gateways[1].wait { $0.sharing.status.counts.applied == 1 }
            #expect(try await gateways[1].get("/cart").text == "new")
        }
    }
}
