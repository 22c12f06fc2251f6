import Foundation
public import Holdfast

/// A client on a scripted network, with a store that vanishes and clocks that stand still; see
/// ``withTestClient(_:logger:_:)``.
public struct TestClient: Sendable {
    /// The client itself.
    public let client: CachingClient
    /// Its network.
    public let transport: ScriptedTransport
    /// Its store: a real one, in a folder that goes when the test ends. It is on a file system in
    /// memory where there is one (`/dev/shm`), otherwise on disk.
    public let store: CacheManager
    /// Tells dates and ages; 2026-01-01T00:00:00Z until it is moved.
    public let clock: ManualClock
    /// What timeouts, waits between retries and delayed replies are timed by.
    public let sleeper: ManualDurationClock
}

/// Requests that no script answered.
public struct UnscriptedCalls: Error, Sendable, Hashable, CustomStringConvertible {
    /// What was asked for, in order. Parameters whose names tell of a secret are redacted.
    public var targets: [String]

    /// Targets that were asked for.
    public init(targets: [String]) { self.targets = targets }

    /// What was asked for, and what to do.
    public var description: String {
        "No answer is scripted for \(targets.map { "'\($0)'" }.joined(separator: ", ")). Tell the transport with 'script'."
    }
}

/// Runs a test with a client that asks nobody.
///
/// ```swift
/// try await withTestClient { test in
///     test.transport.script("https://a.example/feed", .ok("[]"))
///     let feed = try await test.client.fetch(FeedEndpoint())
/// }
/// ```
///
/// The client is also that of the task, ``CachingClient/current``. Client, store and folder are
/// gone when this returns. For tests of an engine, without files, there is
/// ``InMemoryResponseStore``.
///
/// - Parameters:
///   - configuration: the client's.
///   - logger: silent unless told otherwise.
/// - Returns: what `body` does.
/// - Throws: what `body` throws; otherwise ``UnscriptedCalls`` where a request found no script,
///   also one whose failure nobody noticed, because what was stored stood in for it.
public func withTestClient<Value>(
    _ configuration: CachingClient.Configuration = CachingClient.Configuration(),
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
    _ body: (TestClient) async throws -> Value
) async throws -> Value {
    let folder = TestFolder()
    defer { folder.remove() }
    let clock = ManualClock()
    let sleeper = ManualDurationClock()
    let transport = ScriptedTransport(sleeper: sleeper)
    let store = try await CacheManager.open(at: folder.path, clock: clock, logger: logger)
    let client = CachingClient(
        store: store,
        transport: transport,
        configuration: configuration,
        clock: clock,
        sleeper: sleeper,
        logger: logger
    )
    let test = TestClient(client: client, transport: transport, store: store, clock: clock, sleeper: sleeper)
    let ending: Result<Value, any Error>
    do {
        ending = .success(try await CachingClient.$current.withValue(client) { try await body(test) })
    } catch {
        ending = .failure(error)
    }
    try await client.close()
    try await store.close()
    let value = try ending.get()
    guard transport.unscripted.isEmpty else {
        throw UnscriptedCalls(targets: transport.unscripted.map { (try? TargetURI($0))?.redacted ?? $0 })
    }
    return value
}

/// A folder of one test.
struct TestFolder {
    let path: String

    init() {
        let memory = "/dev/shm"
        let parent =
            FileManager.default.isWritableFile(atPath: memory)
            ? URL(filePath: memory, directoryHint: .isDirectory) : FileManager.default.temporaryDirectory
        path = parent.appending(path: "holdfast-test-\(UUID().uuidString)").path
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
