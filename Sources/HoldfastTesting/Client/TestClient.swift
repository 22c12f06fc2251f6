public import Foundation
public import Holdfast
import Logging

/// A client with a scripted network, a temporary store, and manual clocks: see
/// ``withTestClient(_:logger:_:)``.
public struct TestClient: Sendable {
    /// The client.
    public let client: CachingClient
    /// The client's network.
    public let transport: ScriptedTransport
    /// The client's store. It is a real store, in a folder that is removed when the test ends. The
    /// folder is on an in-memory file system (`/dev/shm`) if there is one, otherwise on disk.
    public let store: CacheManager
    /// The clock for dates and ages. It shows 2026-01-01T00:00:00Z until the test moves it.
    public let clock: ManualClock
    /// The clock for timeouts, pauses between retries, and delayed replies.
    public let sleeper: ManualDurationClock
}

/// An error that lists the requests for which no response was scripted.
public struct UnscriptedCalls: Error, Sendable, Hashable, CustomStringConvertible {
    /// The targets of the requests, in order. Parameters with a name that suggests a secret are
    /// redacted.
    public var targets: [String]

    /// Creates an error that lists these targets.
    public init(targets: [String]) { self.targets = targets }

    /// The targets, and instructions for scripting them.
    public var description: String {
        "No response is scripted for \(targets.map { "'\($0)'" }.joined(separator: ", ")). Add one with the transport's 'script'."
    }
}

// Without this, `localizedDescription` would state only the type and a number.
extension UnscriptedCalls: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

/// An error that lists endpoint properties that compile but are ignored.
///
/// For example, `let timeout: Int` is ignored because `Endpoint.timeout` is a `Duration` and has a
/// default, and `let header: [String: String]` is ignored because the requirement is named
/// `headers`. Computed properties and enums are found by ``EndpointSourceCheck``.
public struct IgnoredProperties: Error, Sendable, Hashable, CustomStringConvertible {
    /// The properties, such as `GetFeed.timeout`, in the order in which they were found.
    public var properties: [String]
    /// The properties, with the reasons and the corrections.
    public var description: String

    init(_ found: [IgnoredProperty]) {
        properties = found.map { "\($0.endpoint).\($0.property)" }
        description = found.map { "\($0.endpoint): \($0.explanation)" }.joined(separator: "\n")
    }
}

extension IgnoredProperties: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

/// Runs a test with a client whose network consists only of scripted replies.
///
/// ```swift
/// try await withTestClient { test in
///     test.transport.script("https://a.example/feed", .ok("[]"))
///     let feed = try await test.client.fetch(FeedEndpoint())
/// }
/// ```
///
/// The client is also the task's client, `CachingClient.current`. The client, the store and the
/// folder are removed when this function returns. Tests of an engine need no files: use
/// ``InMemoryResponseStore``.
///
/// - Parameters:
///   - configuration: the client's configuration.
///   - logger: the client's logger; by default, it discards all messages.
/// - Returns: the result of `body`.
/// - Throws: the error of `body`, or an error of the store. If `body` succeeds,
///   ``IgnoredProperties`` if a called endpoint has ignored properties, or ``UnscriptedCalls`` if a
///   request had no script, even if a stored response was served and hid the request's failure.
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

/// A temporary folder for one test.
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
