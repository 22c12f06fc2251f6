/// A handle for an origin in this process: its address, its recorded requests, and its forced
/// behaviors.
///
/// It is `Sendable`, and all its methods can be called at any time. The origin's state (likes,
/// counts, forced behaviors) survives ``stop()`` and ``restart()``. If the handle is released while
/// the origin runs, the origin stops some time later; a test should stop it explicitly.
public final class RunningOrigin: Sendable {
    let state: OriginState
    private let server: OriginServer

    init(configuration: OriginConfiguration) {
        state = OriginState(configuration: configuration)
        server = OriginServer(state: state)
    }

    deinit {
        let server = server
        Task { await server.stop() }
    }

    // MARK: Address

    /// The port that the origin listens on, or listened on before it was stopped.
    public var port: Int { server.port }

    /// The URL, such as `http://127.0.0.1:PORT`, without a slash at the end.
    public var baseURL: String { "http://\(authority)" }

    /// The host and port, as in a `Host` field, such as `127.0.0.1:PORT`.
    public var authority: String {
        let host = state.configuration.host
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Returns the URL of a request target on this origin: `url("/moments?userID=harbour")`.
    public func url(_ target: String) -> String {
        target.hasPrefix("/") ? baseURL + target : baseURL + "/" + target
    }

    // MARK: Stopping and restarting

    /// Stops immediately: closes every connection, even in the middle of a response, and refuses
    /// new connections.
    ///
    /// Returns after all connections are closed. Calling it again has no effect.
    public func stop() async {
        await server.stop()
    }

    /// Restarts on the same port, with the same likes, counts and forced behaviors.
    ///
    /// Has no effect while the origin runs.
    ///
    /// - Throws: ``OriginError`` if the port is now in use.
    public func restart() async throws {
        try await server.start()
    }

    // MARK: Requests

    /// The number of received requests on all paths, except those of the control plane (`/_…`).
    public var requestCount: Int { state.ledger.statistics.total }

    /// Returns the number of received requests for exactly this path, percent-encoded as received
    /// and without the query.
    ///
    /// Only the first 10,000 distinct paths are counted.
    public func requestCount(path: String) -> Int { state.ledger.count(path: path) }

    /// The number of received requests of each route, by method and pattern:
    /// `["GET /moments/{id}": 3]`.
    public var requestCountsByRoute: [String: Int] { state.ledger.statistics.routes }

    /// The latest requests as they were received, oldest first: at least the last 500 requests, at
    /// most the last 1,000.
    public var requests: [RecordedRequest] { state.ledger.recorded }

    /// The number of access tokens that `POST /auth/token` has issued. Rejected requests do not
    /// count.
    public var tokenRefreshCount: Int { state.ledger.statistics.refreshes }

    /// The number of connections accepted since the origin was created. 0 proves that no client
    /// opened a socket to it.
    public var acceptedConnections: Int { state.connections.accepted }

    /// The number of open connections. A connection whose peer has closed its side counts as
    /// closed.
    public var openConnections: Int { state.connections.open }

    /// Waits until at most `count` connections are open, or the task is canceled.
    ///
    /// A test can use this to check that a canceled request was closed on the wire.
    public func waitForOpenConnections(atMost count: Int) async {
        await state.connections.waitUntilOpen(atMost: count)
    }

    // MARK: Misbehavior

    /// Forces a behavior on the next `times` requests for `path`; `nil` matches any path.
    ///
    /// Behaviors are used up in the order in which they were forced, one per request. `Int.max`
    /// applies the behavior until ``behaveNormally()``.
    public func force(_ behavior: ForcedBehavior, times: Int = 1, path: String? = nil) {
        state.script.force(behavior, times: times, path: path)
    }

    /// Removes all forced behaviors. Requests that are already waiting for a gate keep waiting.
    public func behaveNormally() {
        state.script.clear()
    }

    /// Returns the gate at which `GET /gated/{name}` waits. Until ``reset()``, the same name has
    /// the same gate.
    public func gate(_ name: String) -> Gate {
        state.gates.gate(name)
    }

    /// Expires the current access tokens. Refresh tokens stay valid.
    public func expireTokens() {
        state.tokens.expire()
    }

    /// Removes likes, counts, recorded requests, forced behaviors, tokens and persisted queries.
    /// Opens and removes named gates. Connections are not affected.
    public func reset() {
        state.feed.reset()
        state.ledger.reset()
        state.script.clear()
        state.flaky.reset()
        state.attempts.reset()
        state.tokens.reset()
        state.persistedQueries.reset()
        state.gates.reset()
    }
}
