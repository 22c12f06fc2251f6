import Foundation
public import Holdfast

/// A client on a scripted network, with a store that vanishes and clocks that stand still; see
/// ``withTestClient(_:logger:_:)``.
public struct TestClient: Sendable {
    /// The client itself.
    public let client: CachingClient
    /// Its network.
    public let transport: ScriptedTransport
    /// Its store: a real one, in a folder that is removed when the test ends. The folder is on a
    /// file system in memory if there is one (`/dev/shm`), otherwise on disk.
    public let store: CacheManager
    /// The source of dates and ages; 2026-01-01T00:00:00Z until it is moved.
    public let clock: ManualClock
    /// The clock of timeouts, of waits between retries and of delayed replies.
    public let sleeper: ManualDurationClock
}

/// Requests without a script.
public struct UnscriptedCalls: Error, Sendable, Hashable, CustomStringConvertible {
    /// The targets of the requests, in order. Parameters with the name of a secret are redacted.
    public var targets: [String]

    /// An error that names these targets.
    public init(targets: [String]) { self.targets = targets }

    /// The targets, and how to script them.
    public var description: String {
        "No response is scripted for \(targets.map { "'\($0)'" }.joined(separator: ", ")). Add one with the transport's 'script'."
    }
}

/// Properties of endpoints that compile and are ignored.
///
/// `let timeout: Int` is one: `Endpoint.timeout` takes a `Duration`, and has a default. So is
/// `let header: [String: String]`: the requirement is `headers`. Computed properties and enums are
/// found by ``EndpointSourceCheck``.
public struct IgnoredProperties: Error, Sendable, Hashable, CustomStringConvertible {
    /// The properties, as `GetFeed.timeout`, in the order in which they were found.
    public var properties: [String]
    /// The properties, with the reasons and what to write instead.
    public var description: String

    init(_ found: [IgnoredProperty]) {
        properties = found.map { "\($0.endpoint).\($0.property)" }
        description = found.map { "\($0.endpoint): \($0.explanation)" }.joined(separator: "\n")
    }
}

/// Runs a test with a client that has no network but a script.
///
/// ```swift
/// try await withTestClient { test in
///     test.transport.script("https://a.example/feed", .ok("[]"))
///     let feed = try await test.client.fetch(FeedEndpoint())
/// }
/// ```
///
/// The client is also that of the task, `CachingClient.current`. Client, store and folder are
/// removed when this returns. Tests of an engine need no files: use ``InMemoryResponseStore``.
///
/// - Parameters:
///   - configuration: the client's.
///   - logger: silent by default.
/// - Returns: the result of `body`.
/// - Throws: the error of `body`. Otherwise ``IgnoredProperties`` if a called endpoint has
///   properties that are ignored, and ``UnscriptedCalls`` if a request had no script. That includes
///   requests whose failure was hidden, because a stored response was served instead.
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
    guard client.ignoredProperties.isEmpty else { throw IgnoredProperties(client.ignoredProperties) }
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
