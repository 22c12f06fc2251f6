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

/// The files of the cookbook.
enum Cookbook {
    static let root =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path + "/"
    static let folder = root + "Examples/Cookbook/"

    static func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".yaml") }.sorted()
    }
}

/// A shared cache with one of the cookbook's files, on a scripted origin and a clock that stands
/// still.
struct Kitchen {
    let transport = ScriptedTransport()
    let memory = InMemoryResponseStore()
    let clock = ManualClock()
    let engine: CacheEngine

    init(_ file: String) throws {
        let configuration = try Configuration(contentsOf: Cookbook.folder + file)
        engine = CacheEngine(
            store: memory,
            transport: transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: [UInt8](repeating: 7, count: 32),
            mode: configuration.mode ?? .automatic,
            options: configuration.options,
            rules: configuration.rules,
            parts: .init(clock: clock),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @discardableResult
    func get(_ url: String, _ fields: HTTPFields = [:]) async throws -> (text: String, response: CacheResponse) {
        try await send(url, .get, fields, nil)
    }

    func post(_ url: String, _ content: String) async throws -> (text: String, response: CacheResponse) {
        try await send(url, .post, [.contentType: "application/json"], .buffer(ByteBuffer(string: content)))
    }

    private func send(
        _ url: String,
        _ method: HTTPRequest.Method,
        _ fields: HTTPFields,
        _ body: RequestBody?
    ) async throws -> (text: String, response: CacheResponse) {
        let head = try HTTPRequest(method, url: url, fields: fields)
        let response = try await engine.respond(to: CacheRequest(head: head, body: body))
        return (String(buffer: try await response.body.collect(upTo: 1 << 20)), response)
    }

    func stored(_ url: String) async throws -> [StoredResponse] {
        try await memory.lookup(StoreKey(target: TargetURI(url)))
    }

    /// After one fetch, expects a hit after `hit`, and a request to the origin after another
    /// `miss`.
    func expect(
        _ url: String,
        answering reply: ScriptedTransport.Reply,
        isHitAfter hit: Duration,
        andNotAfter miss: Duration?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        transport.script(url, reply)
        try await get(url)
        clock.advance(by: hit)
        #expect(try await get(url).response.outcome.isHit, "\(url)", sourceLocation: sourceLocation)
        guard let miss else { return }
        clock.advance(by: miss)
        transport.script(url, reply)
        let again = try await get(url)
        #expect(!again.response.outcome.isHit, "\(url)", sourceLocation: sourceLocation)
        #expect(transport.unscripted.isEmpty, sourceLocation: sourceLocation)
    }
}
