import Foundation
import Holdfast
import HoldfastTesting
import Logging
import OfflineStore
import TestSupport
import Testing

/// A client on a scripted network, a real store on disk and clocks that stand still.
struct ScriptedClient {
    let transport: ScriptedTransport
    let clock: ManualClock
    let sleeper: ManualDurationClock
    let store: CacheManager
    let client: CachingClient
    let logger: Logger

    static let url = "https://a.example"

    static func run(
        clock: ManualClock = ManualClock(),
        sleeper: ManualDurationClock = ManualDurationClock(),
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ configuration: CachingClient.Configuration = .init(),
        _ body: (ScriptedClient) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let store = try await CacheManager.open(at: folder.store, clock: clock, logger: logger)
        let transport = ScriptedTransport()
        let client = CachingClient(
            store: store,
            transport: transport,
            configuration: configuration,
            clock: clock,
            sleeper: sleeper,
            logger: logger
        )
        let fixture = ScriptedClient(
            transport: transport,
            clock: clock,
            sleeper: sleeper,
            store: store,
            client: client,
            logger: logger
        )
        let result: Result<Void, any Error>
        do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
        try await client.close()
        try await store.close()
        #expect(transport.unscripted == [])
        try result.get()
    }

    /// Another client on the same store and network.
    func client(_ configuration: CachingClient.Configuration) -> CachingClient {
        CachingClient(
            store: store,
            transport: transport,
            configuration: configuration,
            clock: clock,
            sleeper: sleeper,
            logger: logger
        )
    }

    func get(_ path: String, _ headers: HTTPFields = [:]) -> PathEndpoint {
        PathEndpoint(baseURL: Self.url, path: path, headers: headers)
    }

    /// The next responses for a path.
    func script(_ path: String, _ replies: ScriptedTransport.Reply...) {
        for reply in replies { transport.script(Self.url + path, reply) }
    }

    func sent(_ name: HTTPField.Name) -> [String?] { transport.requests.map { $0.headerFields[name] } }
}

extension ScriptedTransport.Reply {
    /// A 200 that is fresh for a minute.
    static func fresh(_ body: String, etag: String? = nil) -> Self {
        var fields: HTTPFields = [.cacheControl: "max-age=60"]
        if let etag { fields[.eTag] = etag }
        return .ok(body, fields: fields)
    }
}
