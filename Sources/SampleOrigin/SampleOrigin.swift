/// A small, real HTTP origin server with a JSON API worth caching, for tests, examples and
/// benchmarks.
///
/// Everything it answers is deterministic: the same requests in the same order give the same bytes,
/// whatever the machine or the time (`Date` excepted, and that can be replaced:
/// ``OriginConfiguration/date``). Every answer carries `X-Origin-Request`, the number of the
/// request it answers, so that a test can tell a stored answer from a fetched one.
///
/// ```swift
/// let origin = try await SampleOrigin.start()
/// // … requests to origin.url("/moments?userID=harbour") …
/// #expect(origin.requestCount(path: "/moments") == 1)
/// await origin.stop()
/// ```
///
/// ``SampleOrigin/routes`` describes what it answers; `sample-origin --help` prints that.
public enum SampleOrigin {
    /// Starts an origin on loopback and returns when it accepts connections.
    ///
    /// - Parameter port: The port to listen on; 0, the default, takes a free one.
    /// - Throws: ``OriginError`` when the address cannot be bound.
    public static func start(port: Int = 0) async throws -> RunningOrigin {
        try await start(OriginConfiguration(port: port))
    }

    /// Starts an origin as configured and returns when it accepts connections.
    ///
    /// - Throws: ``OriginError`` when the configuration is out of range or the address cannot be
    ///   bound.
    public static func start(_ configuration: OriginConfiguration) async throws -> RunningOrigin {
        try configuration.validate()
        let origin = RunningOrigin(configuration: configuration)
        try await origin.restart()
        return origin
    }

    /// Runs `body` with an origin of its own, which is stopped when `body` returns or throws.
    ///
    /// - Throws: ``OriginError`` when the origin cannot start, else what `body` throws.
    public nonisolated(nonsending) static func withOrigin<Value>(
        _ configuration: OriginConfiguration = OriginConfiguration(),
        _ body: (RunningOrigin) async throws -> Value
    ) async throws -> Value {
        let origin = try await start(configuration)
        do {
            let value = try await body(origin)
            await origin.stop()
            return value
        } catch {
            await origin.stop()
            throw error
        }
    }

    /// Runs an origin until the process is asked to end by SIGINT or SIGTERM: the whole of
    /// `sample-origin`.
    ///
    /// - Parameter onReady: Called once, when the origin accepts connections.
    /// - Throws: ``OriginError`` when the origin cannot start.
    public static func run(
        _ configuration: OriginConfiguration,
        onReady: @Sendable (RunningOrigin) -> Void
    ) async throws {
        // Caught before the start, so that a signal that comes at any time after the first line
        // ends this in order.
        let signals = TerminationSignals()
        let origin = try await start(configuration)
        onReady(origin)
        await signals.first()
        await origin.stop()
    }
}
