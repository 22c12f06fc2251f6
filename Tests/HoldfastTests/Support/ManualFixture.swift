import Foundation
import Holdfast
import HoldfastTesting
import Logging

/// A client on a scripted transport, a real store on disk and clocks that stand still.
struct ManualFixture {
    let transport = ScriptedTransport()
    let clock = ManualClock()
    let sleeper = ManualDurationClock()
    let folder: String
    let store: CacheManager
    let client: CachingClient

    /// - Parameter transport: replaces the scripted one.
    init(_ configuration: CachingClient.Configuration = .init(), transport: (any Transport)? = nil) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        folder = FileManager.default.temporaryDirectory.appending(path: "holdfast-\(UUID().uuidString)").path
        store = try await CacheManager.open(at: folder + "/store", clock: clock, logger: logger)
        client = CachingClient(
            store: store,
            transport: transport ?? self.transport,
            configuration: configuration,
            clock: clock,
            sleeper: sleeper,
            logger: logger
        )
    }

    /// Closes the client and removes its files.
    func close() async throws {
        try await client.close()
        try await store.close()
        try FileManager.default.removeItem(atPath: folder)
    }
}

extension ManualDurationClock {
    /// Returns when a task sleeps until this long after the clock's beginning.
    func waitForDeadline(_ offset: Duration) async {
        while !deadlines.contains(Instant(offset)) { await Task.yield() }
    }
}
