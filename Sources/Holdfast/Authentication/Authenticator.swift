public import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes
import Synchronization

/// Sends requests with a token that it gets from a ``TokenSource``, and names whose requests they
/// are.
///
/// ```swift
/// let authenticator = try Authenticator(RefreshTokens(…), token: keychain.token, principal: "user-4711")
/// let client = try await CachingClient.open(store: "feed.store", configuration: .init(plugins: [authenticator]))
/// ```
///
/// * **Once**: however many requests need a token at the same time, the source is asked once, for
///   all of them. A caller that goes away ends its own waiting only.
/// * **In time**: a token is replaced before it expires, while it is still sent. After a 401 it is
///   replaced once, and the request goes again; a request that was refused for an older token than
///   the present one just goes again.
/// * **No storm**: a source that failed is left alone for a while, longer each time; until then all
///   requests that need a token fail with what it said. One that does not answer is waited for no
///   longer than ``Configuration/timeout``.
/// * **Stored copies survive**: they belong to the ``principal`` and not to a token. Looking into
///   the store never waits for a token, so that what is stored is served with an expired one, or
///   none. Where the source cannot be reached, what is stored answers as if the origin could not
///   be; see ``SingleValueStrategy``.
/// * **For nobody else**: a token goes to ``Configuration/origins`` only, and is in no log, error
///   or description. A request that has the field already is left as it is.
///
/// It fails with ``HoldfastError``, code `loginRequired` where the source has no token to give any
/// more, `originUnreachable` where it could not be asked, `authenticationFailed` otherwise.
public final class Authenticator: PreparingPlugin, RecoveringPlugin {
    private struct State {
        var tokens: TokenState
        var principal: String?
        var waiters: [Int: CheckedContinuation<AccessToken, any Error>] = [:]
        var nextWaiter = 0
        /// Asks the source, and ends that when it takes too long.
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

    /// Whose source is being asked by this task: what it asks for is not authenticated, or it would
    /// wait for itself.
    @TaskLocal private static var asking: ObjectIdentifier?

    /// An authenticator of one principal.
    ///
    /// - Parameters:
    ///   - source: where tokens come from.
    ///   - token: one to begin with. Where there is none, the source is asked when the first
    ///     request needs one.
    ///   - principal: whose requests these are, where neither endpoint nor client says so: a name
    ///     that stays when tokens change and that no other user has.
    ///   - clock: tells whether a token has expired.
    ///   - sleeper: what the timeout and pauses are timed by.
    ///   - jitter: a number from 0 to 1 for each pause, so that many processes do not ask at the
    ///     same time.
    ///   - onLoginRequired: called each time the source has turned out to have no token to give any
    ///     more. See ``signIn(_:as:)``.
    /// - Throws: ``HoldfastError`` with code `invalidURL`: an origin is none.
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
        state = Mutex(State(tokens: tokens, principal: principal))
    }

    /// Whose requests are authenticated; `nil` after ``signOut()``.
    public var principal: String? { state.withLock { $0.principal } }

    /// The user has logged in: requests go with this token from now on, those that wait as well.
    public func signIn(_ token: AccessToken, as principal: String) {
        settle { state, now in
            state.principal = principal
            state.tokens.signIn(token, at: now)
            return true
        }
    }

    /// The user has logged out: requests fail with code `loginRequired` until ``signIn(_:as:)``.
    /// What is stored stays, and is not seen without its principal.
    public func signOut() {
        settle { state, now in
            state.principal = nil
            state.tokens.signOut(.loginRequired(), at: now)
            return true
        }
    }

    /// A token that is taken, as far as is known: for requests that go another way.
    ///
    /// - Throws: ``HoldfastError``, or `CancellationError` when the calling task is cancelled.
    public func token() async throws -> AccessToken {
        // As a rule it is there.
        if case .go(let token, false) = state.withLock({ $0.tokens.needed(at: now()) }) { return token }
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<AccessToken, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    switch state.tokens.needed(at: now()) {
                    case .go(let token, let isRenewed):
                        if isRenewed { ask(&state) }
                        return .success(token)
                    case .fail(let error): return .failure(error)
                    case .wait:
                        state.waiters[id] = continuation
                        ask(&state)
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
        guard Self.asking != ObjectIdentifier(self), isMeant(request.head, call),
            !request.head.headerFields.contains(configuration.field)
        else { return }
        if request.principal == nil { request.principal = principal }
        let token: AccessToken
        switch call.purpose {
        case .lookup:
            // Whatever it is worth: it stays in the process.
            guard let known = state.withLock({ $0.tokens.known }) else { return }
            token = known
        case .network: token = try await self.token()
        }
        request.head.headerFields[configuration.field] = configuration.prefix + token.value
    }

    /// See ``RecoveringPlugin``.
    public func recover(from response: HTTPResponse, to request: CacheRequest, for call: CallInfo) async throws -> Bool
    {
        guard response.status == .unauthorized, isMeant(request.head, call),
            let value = request.head.headerFields[configuration.field], value.hasPrefix(configuration.prefix)
        else { return false }
        let token = String(value.dropFirst(configuration.prefix.count))
        return state.withLock { $0.tokens.refused(token, at: now()) }
    }

    /// The field of the token.
    public var secrets: Secrets { Secrets(fields: [configuration.field]) }

    /// Whether there is a token to go with.
    public var isReady: Bool { state.withLock { $0.tokens.isReady(at: now()) } }

    private func now() -> TokenState.Instant { TokenState.Instant(date: clock.now(), uptime: uptime()) }

    /// Asks the source, unless that is under way: in a task of its own, because it is for
    /// everybody.
    private func ask(_ state: inout State) {
        guard let generation = state.tokens.beginAsking() else { return }
        let old = state.tokens.known
        let asking = Task {
            let result: Result<AccessToken, any Error>
            do {
                result = .success(
                    try await Self.$asking.withValue(ObjectIdentifier(self)) {
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
        state.running = [asking, timer]
    }

    /// The source answered, failed, or took too long; what comes after that does not count.
    private func finish(_ result: Result<AccessToken, any Error>, _ generation: Int) {
        var refusal: HoldfastError?
        settle { state, now in
            let pause = state.tokens.nextPause * (0.5 + jitter() / 2)
            switch result {
            case .success(let token):
                guard state.tokens.answered(token, generation, at: now, pause: pause) else { return false }
            case .failure(let error):
                let error = HoldfastError(ofSource: error)
                guard state.tokens.failed(error, generation, at: now, pause: pause) else { return false }
                if error.code == .loginRequired { refusal = error }
            }
            return true
        }
        if let refusal { onLoginRequired(refusal) }
    }

    /// Changes what is known, and tells everybody who waits.
    ///
    /// - Parameter change: `false`: it has changed nothing.
    private func settle(_ change: (inout State, TokenState.Instant) -> Bool) {
        let settled: (waiters: [CheckedContinuation<AccessToken, any Error>], Result<AccessToken, any Error>)?
        settled = state.withLock { state in
            let now = now()
            guard change(&state, now) else { return nil }
            // Whatever is under way does not count any more.
            for task in state.running { task.cancel() }
            state.running = []
            let result: Result<AccessToken, any Error>
            switch (state.tokens.needed(at: now), state.tokens.failure) {
            case (.go(let token, _), _): result = .success(token)
            // Without a pause the next one asks again, but those who waited are told.
            case (.fail(let error), _), (.wait, let error?): result = .failure(error)
            case (.wait, nil):
                if !state.waiters.isEmpty { ask(&state) }
                return nil
            }
            defer { state.waiters = [:] }
            return (Array(state.waiters.values), result)
        }
        guard let (waiters, result) = settled else { return }
        for waiter in waiters { waiter.resume(with: result) }
    }
}

extension Authenticator: CustomStringConvertible, CustomReflectable {
    /// Its name, and nothing of what it knows.
    public var description: String { "Authenticator" }
    /// Nothing of what it knows.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
