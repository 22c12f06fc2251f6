import Foundation
import Holdfast
import HoldfastTesting
import Logging
import Testing

/// A client on a scripted transport, a real store on disk and clocks that stand still.
struct ScriptedClient {
    let transport: ScriptedTransport
    let clock: ManualClock
    let sleeper: ManualDurationClock
    let store: CacheManager
    let client: CachingClient

    static let url = "https://a.example"

    static func run(
        _ configuration: CachingClient.Configuration = .init(),
        _ body: (ScriptedClient) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "holdfast-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let clock = ManualClock()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let store = try await CacheManager.open(at: folder, clock: clock, logger: logger)
        let transport = ScriptedTransport()
        let sleeper = ManualDurationClock()
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
            client: client
        )
        let ending: Result<Void, any Error>
        do { ending = .success(try await body(fixture)) } catch { ending = .failure(error) }
        #expect(transport.unscripted == [])
        try await client.close()
        try await store.close()
        try ending.get()
    }

    func script(_ path: String, _ replies: ScriptedTransport.Reply...) {
        for reply in replies { transport.script(Self.url + path, reply) }
    }

    func get(_ path: String) -> PathEndpoint { PathEndpoint(baseURL: Self.url, path: path) }
}

extension ScriptedTransport.Reply {
    /// A 200 that is fresh for a minute.
    static func fresh(_ body: String, etag: String? = nil) -> Self {
        var fields: HTTPFields = [.cacheControl: "max-age=60"]
        if let etag { fields[.eTag] = etag }
        return .ok(body, fields: fields)
    }
}
