import Foundation
import Holdfast
import HoldfastTesting
import Logging
import TestSupport

/// A client on a scripted transport, a real store on disk and clocks that stand still.
struct ManualFixture {
    let transport = ScriptedTransport()
    let clock = ManualClock()
    let sleeper = ManualDurationClock()
    private let temporary: TemporaryFolder
    let store: CacheManager
    let client: CachingClient

    var folder: String { temporary.path }

    /// - Parameter transport: replaces the scripted one.
    init(_ configuration: CachingClient.Configuration = .init(), transport: (any Transport)? = nil) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        temporary = try TemporaryFolder()
        store = try await CacheManager.open(at: temporary.store, clock: clock, logger: logger)
        client = CachingClient(
            store: store,
            transport: transport ?? self.transport,
            configuration: configuration,
            clock: clock,
            sleeper: sleeper,
            logger: logger
        )
    }

    /// Closes the client and its store.
    func close() async throws {
        try await client.close()
        try await store.close()
    }
}

extension ManualDurationClock {
    /// Returns when a task sleeps until this long after the clock's beginning.
    func waitForDeadline(_ offset: Duration) async {
        while !deadlines.contains(Instant(offset)), !Task.isCancelled { await Task.yield() }
    }
}
