/// A small, real HTTP origin server with a JSON API worth caching, for tests, examples and
/// benchmarks.
///
/// All responses are deterministic: the same requests in the same order get the same bytes, on any
/// machine and at any time. Only `Date` differs, unless ``OriginConfiguration/date`` sets it. Every
/// response has the number of its request in `X-Origin-Request`, so that a test can distinguish
/// stored responses from fetched ones.
///
/// ```swift
/// let origin = try await SampleOrigin.start()
/// // … requests to origin.url("/moments?userID=harbour") …
/// #expect(origin.requestCount(path: "/moments") == 1)
/// await origin.stop()
/// ```
///
/// ``SampleOrigin/routes`` describes the routes; `sample-origin --help` prints the description.
public enum SampleOrigin {
    /// Starts an origin on loopback and returns when it accepts connections.
    ///
    /// - Parameter port: The port to listen on; 0, the default, selects a free port.
    /// - Throws: ``OriginError`` if the address cannot be bound.
    public static func start(port: Int = 0) async throws -> RunningOrigin {
        try await start(OriginConfiguration(port: port))
    }

    /// Starts an origin with a configuration, and returns when it accepts connections.
    ///
    /// - Throws: ``OriginError`` if a configuration value is out of range or the address cannot be
    ///   bound.
    public static func start(_ configuration: OriginConfiguration) async throws -> RunningOrigin {
        try configuration.validate()
        let origin = RunningOrigin(configuration: configuration)
        try await origin.restart()
        return origin
    }

    /// Runs `body` with a new origin, which is stopped when `body` returns or throws.
    ///
    /// - Throws: ``OriginError`` if the origin cannot start, otherwise the error of `body`.
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

    /// Runs an origin until the process receives SIGINT or SIGTERM: the body of `sample-origin`.
    ///
    /// - Parameter onReady: Called once, when the origin accepts connections.
    /// - Throws: ``OriginError`` if the origin cannot start.
    public static func run(
        _ configuration: OriginConfiguration,
        onReady: @Sendable (RunningOrigin) -> Void
    ) async throws {
        // Catches signals before starting, so that a signal at any time after the first line of
        // output ends the origin in an orderly way.
        let signals = TerminationSignals()
        let origin = try await start(configuration)
        onReady(origin)
        await signals.first()
        await origin.stop()
    }
}
