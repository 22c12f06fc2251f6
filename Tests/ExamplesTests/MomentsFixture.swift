import Foundation
import Holdfast
import HoldfastTesting
import Logging
import MomentsExample
import TestSupport
import Testing

/// A repository over a client with a scripted network, a real store on disk and a clock that stands
/// still.
struct MomentsFixture {
    let api: MomentsAPI
    let transport: ScriptedTransport
    let clock: ManualClock
    let client: CachingClient
    let repository: MomentsRepository

    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    static func run(_ api: MomentsAPI, _ body: (MomentsFixture) async throws -> Void) async throws {
        try await withFolder { folder in
            let clock = ManualClock()
            let store = try await CacheManager.open(at: folder, clock: clock, logger: silent)
            let transport = ScriptedTransport()
            let client = CachingClient(
                store: store,
                transport: transport,
                configuration: .init(environment: ServerEnvironment("test", baseURL: MomentsAPI.origin)),
                clock: clock,
                // The tests measure no time, and probes of an unreachable origin do not wait.
                sleeper: ManualDurationClock(),
                logger: silent
            )
            let fixture = MomentsFixture(
                api: api,
                transport: transport,
                clock: clock,
                client: client,
                repository: MomentsRepository(session: client, toggles: api.toggles)
            )
            let ending: Result<Void, any Error>
            do { ending = .success(try await body(fixture)) } catch { ending = .failure(error) }
            #expect(transport.unscripted == [])
            try await client.close()
            try await store.close()
            try ending.get()
        }
    }

    static func withFolder(_ body: (String) async throws -> Void) async throws {
        try await TemporaryFolder.with { try await body($0.path + "/store") }
    }

    func script(feed replies: ScriptedTransport.Reply...) {
        for reply in replies { transport.script(api.feedTarget, reply) }
    }

    func script(like replies: ScriptedTransport.Reply...) {
        for reply in replies { transport.script(api.likeTarget, reply) }
    }
}

extension EmissionStream {
    /// All emissions.
    func all() async throws -> [Emission<Value>] {
        var emissions: [Emission<Value>] = []
        for try await emission in self { emissions.append(emission) }
        return emissions
    }
}

/// The code of the `HoldfastError` that `body` throws.
func failure(_ body: () async throws -> Void) async throws -> HoldfastError.Code? {
    do {
        try await body()
        return nil
    } catch let error as HoldfastError {
        return error.code
    }
}
