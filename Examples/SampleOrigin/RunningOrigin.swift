/// The handle of an origin in this process: its address, its recorded requests, and its forced
/// behaviour.
///
/// It is `Sendable`, and all its methods may be called at any time. The origin's state (likes,
/// counts, forced behaviours) survives ``stop()`` and ``restart()``. An origin that is released
/// while it runs stops some time later; a test should stop it itself.
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

    /// The port it listens on, or listened on before it was stopped.
    public var port: Int { server.port }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    public var baseURL: String { "http://\(authority)" }

    /// `127.0.0.1:PORT`, as in a `Host` field.
    public var authority: String {
        let host = state.configuration.host
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The URL of a request target on this origin: `url("/moments?userID=harbour")`.
    public func url(_ target: String) -> String {
        target.hasPrefix("/") ? baseURL + target : baseURL + "/" + target
    }

    // MARK: Coming and going

    /// Stops at once: closes every connection, even in the middle of a response, and refuses new
    /// ones.
    ///
    /// Returns when that is done. Calling it again does nothing.
    public func stop() async {
        await server.stop()
    }

    /// Starts again on the same port, with likes, counts and forced behaviours as they were.
    ///
    /// Does nothing while it runs.
    ///
    /// - Throws: ``OriginError`` if the port is in use by now.
    public func restart() async throws {
        try await server.start()
    }

    // MARK: Requests

    /// How many requests it has received, on all paths; the control plane (`/_…`) is not counted.
    public var requestCount: Int { state.ledger.statistics.total }

    /// How many requests it has received for exactly this path (still percent-encoded, without the
    /// query).
    ///
    /// The first 10,000 distinct paths are counted.
    public func requestCount(path: String) -> Int { state.ledger.count(path: path) }

    /// How many requests each route has received, by method and pattern: `["GET /moments/{id}":
    /// 3]`.
    public var requestCountsByRoute: [String: Int] { state.ledger.statistics.routes }

    /// The latest requests as they were received, oldest first; at least the last 500, at most
    /// 1,000.
    public var requests: [RecordedRequest] { state.ledger.recorded }

    /// How many access tokens `POST /auth/token` has given: refused requests are not among them.
    public var tokenRefreshCount: Int { state.ledger.statistics.refreshes }

    /// How many connections it has accepted since it was made: 0 proves that no client opened a
    /// socket to it.
    public var acceptedConnections: Int { state.connections.accepted }

    /// How many connections are open; one whose peer has closed its side counts as closed.
    public var openConnections: Int { state.connections.open }

    /// Returns when no more than `count` connections are open, or when the task is cancelled.
    ///
    /// With it, a test checks that a cancelled request was closed on the wire.
    public func waitForOpenConnections(atMost count: Int) async {
        await state.connections.waitUntilOpen(atMost: count)
    }

    // MARK: How it misbehaves

    /// Forces a behaviour on the next `times` requests for `path` (`nil`: for any path).
    ///
    /// Behaviours are used up in the order in which they were forced, one per request. `Int.max`
    /// means until ``behaveNormally()``.
    public func force(_ behaviour: ForcedBehaviour, times: Int = 1, path: String? = nil) {
        state.script.force(behaviour, times: times, path: path)
    }

    /// Removes all forced behaviours. Requests that already wait for a gate still wait for it.
    public func behaveNormally() {
        state.script.clear()
    }

    /// The gate that `GET /gated/{name}` waits at; the same one for the same name, until
    /// ``reset()``.
    public func gate(_ name: String) -> Gate {
        state.gates.gate(name)
    }

    /// Ends the access tokens that are valid now; refresh tokens stay valid.
    public func expireTokens() {
        state.tokens.expire()
    }

    /// Removes likes, counts, recorded requests, forced behaviours, tokens and persisted queries.
    /// Opens and removes named gates. Connections stay as they are.
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
