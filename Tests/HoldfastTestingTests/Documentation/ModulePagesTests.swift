import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Holdfast
import HoldfastGateway
import HoldfastTesting
import Logging
import NIOCore
import NIOPosix
import Testing

/// The landing pages of `HTTPCache`, `HoldfastGateway` and `HoldfastTesting`: each of their code
/// blocks is in this file, line by line, and runs.
@Suite(.timeLimit(.minutes(20))) struct ModulePagesTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private let secret = [UInt8](repeating: 7, count: 32)

    @Test func engineRespondsThroughScriptedTransport() async throws {
        let store = InMemoryResponseStore()
        let transport = ScriptedTransport()
        transport.script("https://api.example.com/feed", .ok("[]"))
        let engine = CacheEngine(
            store: store,
            transport: transport,
            credentialSecret: secret,
            logger: logger
        )
        let head = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/feed")
        let response = try await engine.respond(to: CacheRequest(head: head))
        let content = try await response.body.collect(upTo: 1 << 20)
        print(response.head.status, response.source, response.isStale, content.readableBytes)
        await engine.shutDown()
        #expect(response.source == .network && content.readableBytes == 2)
    }

    @Test func gatewayStartsAndStops() async throws {
        let origin = "http://127.0.0.1:9"
        let group = MultiThreadedEventLoopGroup.singleton
        let store = InMemoryResponseStore()
        let configuration = GatewayConfiguration(origin: try GatewayOrigin(origin), port: 0)
        var connections = OriginTransport.Configuration()
        connections.routes = configuration.routes
        let transport = try OriginTransport(configuration: connections, group: group, logger: logger)
        let engine = CacheEngine(
            store: store,
            transport: transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: secret,
            logger: logger
        )
        let server = GatewayServer(
            configuration: configuration,
            engine: engine,
            group: group,
            logger: logger
        )
        let address = try await server.start()
        print("listening on http://\(address)")
        await server.stop()
        await engine.shutDown()
        await transport.shutDown()
        #expect(address.port > 0)
    }

    @Test func testClientServesStaleWhenOriginIsUnreachable() async throws {
        try await withTestClient { test in
            test.transport.script(
                "https://api.example.com/feed",
                .ok("[1, 2]", fields: [.cacheControl: "max-age=60"])
            )
            let feed = AdHocRequest<[Int]>("https://api.example.com/feed")
            _ = try await test.client.fetch(feed)
            test.clock.advance(by: .seconds(3600))
            test.transport.isReachable = false
            let offline = try await test.client.fetch(feed)
            #expect(offline.value == [1, 2] && offline.isStale)
        }
    }

    @Test func contractHasNoFindings() async {
        let contract = ResponseStoreContract(timeout: .seconds(600)) { InMemoryResponseStore() }
        let findings = await contract.run()
        print(findings.isEmpty)
        #expect(findings.isEmpty)
    }

    // MARK: The pages

    private static let here = URL(filePath: #filePath)
    private static let root = here.deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The lines of a file without the space around them.
    private static func lines(_ file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test(arguments: ["HTTPCache", "HoldfastGateway", "HoldfastTesting"])
    func everyBlockIsCompiled(module: String) throws {
        let page = Self.root.appending(path: "Sources/\(module)/\(module).docc/\(module).md")
        let compiled = try Self.lines(Self.here)
        let blocks = try Self.lines(page).split(separator: "```swift").dropFirst()
        #expect(!blocks.isEmpty)
        for block in blocks {
            let code = Array(block.prefix { $0 != "```" })
            #expect(!code.isEmpty && code.count < block.count, "A block has no end.")
            #expect(compiled.contains(code), "Not compiled:\n\(code.joined(separator: "\n"))")
        }
    }
}
