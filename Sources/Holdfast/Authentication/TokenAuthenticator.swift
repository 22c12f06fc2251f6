public import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes
import HoldfastContent
import OfflineStore
import Synchronization

/// Sends requests with a token from a ``TokenSource``, and sets their principal.
///
/// ```swift
/// let authenticator = try TokenAuthenticator(
///     RefreshTokens(…), token: keychain.token, principal: "user-4711"
/// )
/// let client = try await CachingClient.open(
///     store: "feed.store", configuration: .init(plugins: [authenticator])
/// )
/// ```
///
/// - **One call for all requests**: if several concurrent requests need a token, the source is
///   called once. Canceling a caller ends only that caller's wait.
/// - **Early renewal**: a token is replaced before it expires, while it is still in use. After a
///   401, it is replaced once, and the request is retried, unless the rejected token had only just
///   been received. A request that was rejected with an older token is retried with the current
///   token, without calling the source.
/// - **No request storms**: after a failure, the source is not called again until a pause has
///   passed. Consecutive failures make the pauses longer. During a pause, all requests that need a
///   token fail with the source's error. No request waits for the source longer than
///   ``Configuration/timeout``.
/// - **Stored responses survive**: they belong to the ``principal``, not to a token. Reading the
///   store never waits for a token, so stored responses are served even if the token is expired or
///   missing. If the source is unreachable, stored responses are used as if the origin were
///   unreachable: see ``SingleValueStrategy``.
/// - **Only your origins**: a token is sent only to ``Configuration/origins``, and never appears in
///   a log, error or description. A request that already has the field is not changed.
///
/// It throws `HoldfastError` with one of these codes:
/// - `loginRequired` if the source can provide no more tokens, or after ``signOut()``
/// - `originUnreachable` if the source was unreachable or timed out
/// - `overloaded` if the source could not send its request, because too many were in flight
/// - `authenticationFailed` otherwise
public final class TokenAuthenticator: PreparingPlugin, RecoveringPlugin {
    /// A token and its principal. They are read together, so that a request that waits while the
    /// user changes never combines one user's token with another user's name.
    private struct Session: Sendable {
        var token: AccessToken
        var principal: String?
    }

    private struct WeakStore {
        weak var store: CacheManager?
    }

    private struct State {
        var tokens: TokenState
        var principal: String?
        /// The current principal or, after a sign-out, the previous one.
        var lastPrincipal: String
        /// The stores of the clients that use this authenticator.
        var stores: [WeakStore] = []
        var waiters: [Int: CheckedContinuation<Session, any Error>] = [:]
        var nextWaiter = 0
        /// The current call to the source, and the timer that ends the call.
        var running: [Task<Void, Never>] = []
    }

    let configuration: Configuration
    let origins: Set<String>
    private let source: any TokenSource
    private let clock: any WallClock
    private let sleeper: any Clock<Duration>
    private let uptime: @Sendable () -> Duration
    private let jitter: @Sendable () -> Double
    private let onLoginRequired: @Sendable (HoldfastError) -> Void
    private let state: Mutex<State>

    /// The authenticator whose source the current task is calling. Requests from that source are
    /// not authenticated, because they would wait for themselves.
    @TaskLocal private static var activeAuthenticator: ObjectIdentifier?

    /// Creates an authenticator for one principal.
    ///
    /// - Parameters:
    ///   - source: the source of tokens.
    ///   - token: the first token. If it is `nil`, the source is called when the first request
    ///     needs a token.
    ///   - principal: the principal of requests, unless the endpoint or the client sets one. The
    ///     name must stay the same when tokens change, and must not belong to any other user.
    ///   - clock: the clock for token expiry.
    ///   - sleeper: the clock for the timeout and pauses.
    ///   - jitter: returns a number from 0 to 1 for each pause, so that many processes do not call
    ///     the source at the same time.
    ///   - onLoginRequired: called when the source can provide no more tokens. See
    ///   ``signIn(_:as:)``.
    /// - Throws: `HoldfastError` with code `invalidURL` if an origin is invalid.
    public init(
        _ source: any TokenSource,
        token: AccessToken? = nil,
        principal: String,
        configuration: Configuration = Configuration(),
        clock: any WallClock = SystemWallClock(),
        sleeper: any Clock<Duration> = TimeoutClock(),
        jitter: @escaping @Sendable () -> Double = { Double.random(in: 0...1) },
        onLoginRequired: @escaping @Sendable (HoldfastError) -> Void = { _ in }
    ) throws {
        self.source = source
        self.configuration = configuration
        self.clock = clock
        self.sleeper = sleeper
        self.jitter = jitter
        self.onLoginRequired = onLoginRequired
        origins = try configuration.parsedOrigins()
        uptime = sleeper.stopwatch()
        let tokens = TokenState(
            token,
            configuration.limits,
            at: TokenState.Instant(date: clock.now(), uptime: .zero)
        )
        state = Mutex(State(tokens: tokens, principal: principal, lastPrincipal: principal))
    }

    /// The principal of authenticated requests; `nil` after ``signOut()``.
    public var principal: String? { state.withLock { $0.principal } }

    /// Sets the token and the principal. Call this when the user has logged in. All requests use
    /// this token from then on, including requests that are already waiting.
    public func signIn(_ token: AccessToken, as principal: String) {
        settle { state, now in
            state.principal = principal
            state.lastPrincipal = principal
            state.tokens.signIn(token, at: now)
            return true
        }
    }

    /// Ends the session. Call this when the user has logged out. Requests fail with code
    /// `loginRequired` until ``signIn(_:as:)``. Stored responses stay, but cannot be read without
    /// their principal; ``signOutAndRemoveResponses()`` removes them.
    public func signOut() {
        settle { state, now in
            state.principal = nil
            state.tokens.signOut(.loginRequired(), at: now)
            return true
        }
    }

    /// Ends the session, then removes all responses that are stored for its principal, including
    /// offline copies.
    ///
    /// Because the session ends first, no new request has a token, and responses to earlier
    /// requests are no longer stored. When this returns, no response of the principal is stored.
    /// Responses are removed from the stores of all clients that have this authenticator as a
    /// plugin, so you do not have to list stores or principals. For the limits of the removal, see
    /// `CacheManager.removeResponses(of:)`. Objects that you stored yourself stay: remove them by
    /// their keys.
    ///
    /// ```swift
    /// try await authenticator.signOutAndRemoveResponses()
    /// try await client.store.removeObjects(withPrefix: "user-4711/")
    /// ```
    ///
    /// The session ends even if this throws. Call it again to repeat the removal: while no user is
    /// signed in, it removes the responses of the last principal.
    ///
    /// - Throws: `HoldfastError` with code `noClient` if no open client has this authenticator as
    ///   a plugin; `StoreError` if a store cannot remove: `readOnly`, `closed`, `full`, `io`,
    ///   `busy`.
    public func signOutAndRemoveResponses() async throws {
        let (principal, stores) = state.withLock { ($0.lastPrincipal, $0.stores.compactMap(\.store)) }
        signOut()
        if stores.isEmpty { throw HoldfastError.nothingErased() }
        var failure: (any Error)?
        for store in stores {
            do { try await store.removeResponses(of: principal) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// Adds a store that may hold responses for this authenticator's principal.
    func note(_ store: CacheManager) {
        state.withLock { state in
            state.stores.removeAll { $0.store == nil }
            if !state.stores.contains(where: { $0.store === store }) { state.stores.append(WeakStore(store: store)) }
        }
    }

    /// Returns a token for requests outside the client. The token is valid as far as the
    /// authenticator knows.
    ///
    /// - Throws: `HoldfastError`, or `CancellationError` if the calling task is canceled.
    public func token() async throws -> AccessToken { try await session().token }

    private func session() async throws -> Session {
        // The usual case: a token is available.
        let current: Session? = state.withLock { state in
            guard case .go(let token, false) = state.tokens.decide(at: now()) else { return nil }
            return Session(token: token, principal: state.principal)
        }
        if let current { return current }
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Session, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    switch state.tokens.decide(at: now()) {
                    case .go(let token, let isRenewed):
                        if isRenewed { callSource(&state) }
                        return .success(Session(token: token, principal: state.principal))
                    case .fail(let error): return .failure(error)
                    case .wait:
                        state.waiters[id] = continuation
                        callSource(&state)
                        return nil
                    }
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    /// See ``PreparingPlugin``.
    public func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws {
        guard Self.activeAuthenticator != ObjectIdentifier(self), mayReceiveToken(request.head, call),
            !request.head.headerFields.contains(configuration.field)
        else { return }
        let known: (token: AccessToken?, principal: String?)
        switch call.purpose {
        case .lookup:
            // Even an invalid token will do, because it does not leave the process.
            known = state.withLock { ($0.tokens.known, $0.principal) }
        case .network:
            let session = try await session()
            known = (session.token, session.principal)
        }
        if request.principal == nil { request.principal = known.principal }
        guard let token = known.token else { return }
        request.head.headerFields[configuration.field] = configuration.prefix + token.value
    }

    /// See ``RecoveringPlugin``.
    public func recover(from response: HTTPResponse, to request: CacheRequest, for call: CallInfo) async throws -> Bool
    {
        guard response.status == .unauthorized, mayReceiveToken(request.head, call),
            let value = request.head.headerFields[configuration.field], value.hasPrefix(configuration.prefix)
        else { return false }
        let token = String(value.dropFirst(configuration.prefix.count))
        return state.withLock { $0.tokens.reject(token, at: now()) }
    }

    /// The field that carries the token.
    public var secrets: Secrets { Secrets(fields: [configuration.field]) }

    /// Whether there is a token to send.
    public var isReady: Bool { state.withLock { $0.tokens.isReady(at: now()) } }

    private func now() -> TokenState.Instant { TokenState.Instant(date: clock.now(), uptime: uptime()) }

    /// Calls the source, unless a call is in progress. The call has its own task, because all
    /// callers share the token.
    private func callSource(_ state: inout State) {
        guard let generation = state.tokens.beginFetch() else { return }
        let old = state.tokens.known
        let fetch = Task {
            let result: Result<AccessToken, any Error>
            do {
                result = .success(
                    try await Self.$activeAuthenticator.withValue(ObjectIdentifier(self)) {
                        try await source.token(replacing: old)
                    }
                )
            } catch {
                result = .failure(error)
            }
            finish(result, generation)
        }
        let timer = Task {
            guard (try? await sleeper.sleep(for: configuration.timeout)) != nil else { return }
            finish(.failure(SourceTimeout()), generation)
        }
        state.running = [fetch, timer]
    }

    /// Handles the end of a call to the source: a token, a failure or a timeout. Ignores any later
    /// result of the same call.
    private func finish(_ result: Result<AccessToken, any Error>, _ generation: Int) {
        var loginError: HoldfastError?
        settle { state, now in
            let pause = state.tokens.nextPause * (0.5 + jitter() / 2)
            switch result {
            case .success(let token):
                guard state.tokens.accept(token, generation, at: now, pause: pause) else { return false }
            case .failure(let error):
                let error = HoldfastError(ofSource: error)
                guard state.tokens.recordFailure(error, generation, at: now, pause: pause) else { return false }
                if error.code == .loginRequired { loginError = error }
            }
            return true
        }
        if let loginError { onLoginRequired(loginError) }
    }

    /// Changes the state, and resumes all waiting callers.
    ///
    /// - Parameter change: changes the state; returns `false` if nothing has changed.
    private func settle(_ change: (inout State, TokenState.Instant) -> Bool) {
        let settled: (waiters: [CheckedContinuation<Session, any Error>], Result<Session, any Error>)?
        settled = state.withLock { state in
            let now = now()
            guard change(&state, now) else { return nil }
            // Any call in progress is obsolete.
            for task in state.running { task.cancel() }
            state.running = []
            let result: Result<Session, any Error>
            switch (state.tokens.decide(at: now), state.tokens.failure) {
            case (.go(let token, _), _): result = .success(Session(token: token, principal: state.principal))
            // Without a pause, the next request calls the source again. The callers that are
            // waiting now receive the error.
            case (.fail(let error), _), (.wait, let error?): result = .failure(error)
            case (.wait, nil):
                if !state.waiters.isEmpty { callSource(&state) }
                return nil
            }
            defer { state.waiters = [:] }
            return (Array(state.waiters.values), result)
        }
        guard let (waiters, result) = settled else { return }
        for waiter in waiters { waiter.resume(with: result) }
    }
}

extension TokenAuthenticator: CustomStringConvertible, CustomReflectable {
    /// The type's name without any state.
    public var description: String { "TokenAuthenticator" }
    /// An empty mirror without any state.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
