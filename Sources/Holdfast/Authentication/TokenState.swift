import HTTPCacheSemantics
import HoldfastContent

/// The state of a ``TokenAuthenticator``. It receives events and returns decisions.
///
/// Dates come from the wall clock; pauses are measured with a monotonic clock.
struct TokenState: Sendable {
    /// The limits that determine when tokens are replaced and how often a source is called.
    struct Limits: Sendable, Hashable {
        /// The time before its expiry at which a token is replaced, or a quarter of its lifetime if
        /// that is shorter.
        var leeway: Duration
        /// The pause after a failure. It doubles with each consecutive failure.
        var pause: Duration
        /// The maximum pause.
        var maximumPause: Duration
    }

    /// The times of both clocks, read once for each decision.
    struct Instant: Sendable {
        var date: Timestamp
        var uptime: Duration
    }

    /// The action for a request that needs a token.
    enum Decision: Sendable {
        /// Send the request with this token. If `isRenewed`, fetch a replacement at the same time.
        case go(AccessToken, isRenewed: Bool)
        /// Wait for a token. Fetch it, unless a fetch is in progress.
        case wait
        /// Fail without calling the source.
        case fail(HoldfastError)
    }

    private let limits: Limits
    private var token: AccessToken?
    /// Counts the calls to the source. A result from before a login or logout is ignored.
    private var generation = 0
    private var isFetching = false
    private var replacedAt: Timestamp?
    private var receivedAt: Duration?
    /// Whether the origin rejected the token. A rejected token must not be sent again.
    private var isRejected = false
    /// The error for all requests during the pause. It is final if a login is required.
    private(set) var failure: HoldfastError?
    private var pauseEnd = Duration.zero
    private var failures = 0
    /// The number of consecutive replacements of tokens that were rejected within
    /// ``Limits/maximumPause`` of their receipt.
    private var rejections = 0
    /// Previous token values, newest last. Requests that were sent with them may still be rejected.
    private var earlier: [String] = []

    private static let rememberedTokens = 8

    init(_ token: AccessToken?, _ limits: Limits, at now: Instant) {
        self.limits = limits
        set(token, at: now)
        // The token's age is unknown. If the token is rejected, it is replaced immediately.
        receivedAt = nil
    }

    /// Accepts a token from the application.
    mutating func signIn(_ token: AccessToken, at now: Instant) {
        reset()
        set(token, at: now)
    }

    /// Discards the token. There is no token until the application provides one.
    mutating func signOut(_ error: HoldfastError, at now: Instant) {
        reset()
        set(nil, at: now)
        earlier = []
        failure = error
    }

    /// The token, valid or not. Only for use within the process.
    var known: AccessToken? { token }

    /// Returns whether a request can be sent without waiting.
    func isReady(at now: Instant) -> Bool { usable(at: now) != nil }

    /// Returns the action for a request that needs a token.
    func decide(at now: Instant) -> Decision {
        let isPausing = failure.map { $0.code == .loginRequired || now.uptime < pauseEnd } ?? false
        if let token = usable(at: now) {
            let isDue = replacedAt.map { now.date >= $0 } ?? false
            return .go(token, isRenewed: isDue && !isPausing && !isFetching)
        }
        if let failure, isPausing { return .fail(failure) }
        return .wait
    }

    /// Starts a call to the source, unless one is in progress. The result must be reported with the
    /// returned number.
    mutating func beginFetch() -> Int? {
        guard !isFetching else { return nil }
        isFetching = true
        return generation
    }

    /// Handles a new token. Returns `false` if the result is obsolete.
    mutating func accept(_ new: AccessToken, _ generation: Int, at now: Instant, pause: Duration) -> Bool {
        guard endFetch(generation) else { return false }
        if isRejected, new.value == token?.value {
            fail(.rejectedTokenAgain, at: now, pause: pause)
        } else if let expiresAt = new.expiresAt, expiresAt <= now.date {
            fail(.expiredToken, at: now, pause: pause)
        } else {
            (failure, failures) = (nil, 0)
            set(new, at: now)
        }
        return true
    }

    /// Handles a failure of the source. Returns `false` if the result is obsolete.
    mutating func recordFailure(_ error: HoldfastError, _ generation: Int, at now: Instant, pause: Duration) -> Bool {
        guard endFetch(generation) else { return false }
        fail(error, at: now, pause: pause)
        return true
    }

    /// The pause after the next failure.
    var nextPause: Duration { pause(after: failures) }

    /// Handles the origin's rejection of a token. Returns whether the request should be retried
    /// with another token.
    ///
    /// A rejected token is replaced once. If the origin rejects tokens immediately after they are
    /// received, it must have another reason. Such tokens are replaced less and less often.
    mutating func reject(_ value: String, at now: Instant) -> Bool {
        guard let token, token.value == value else { return token != nil && earlier.contains(value) }
        guard !isRejected else { return true }
        // A replacement is being fetched, and that may be why the origin rejects this token.
        // Waiting for the replacement needs no additional call.
        if isFetching {
            isRejected = true
            return true
        }
        if let receivedAt {
            let age = now.uptime - receivedAt
            guard age >= pause(after: rejections) else { return false }
            rejections = age >= limits.maximumPause ? 0 : rejections + 1
        }
        isRejected = true
        return true
    }

    private func usable(at now: Instant) -> AccessToken? {
        guard let token, !isRejected, token.expiresAt.map({ now.date < $0 }) ?? true else { return nil }
        return token
    }

    private func pause(after failures: Int) -> Duration {
        min(limits.maximumPause, limits.pause * (1 << min(failures, 20)))
    }

    private mutating func endFetch(_ generation: Int) -> Bool {
        guard isFetching, generation == self.generation else { return false }
        self.generation += 1
        isFetching = false
        return true
    }

    private mutating func fail(_ error: HoldfastError, at now: Instant, pause: Duration) {
        failure = error
        failures += 1
        pauseEnd = now.uptime + pause
    }

    private mutating func reset() {
        generation += 1
        isFetching = false
        (failure, failures, rejections, pauseEnd) = (nil, 0, 0, .zero)
    }

    private mutating func set(_ new: AccessToken?, at now: Instant) {
        if let token, token.value != new?.value {
            earlier.append(token.value)
            earlier.removeFirst(max(0, earlier.count - Self.rememberedTokens))
        }
        token = new
        isRejected = false
        receivedAt = now.uptime
        replacedAt = new?.expiresAt.map { expiresAt in
            let lifetime = Duration.milliseconds(max(0, expiresAt.milliseconds(since: now.date)))
            return expiresAt.adding(.zero - min(limits.leeway, lifetime / 4))
        }
    }
}

extension HoldfastError {
    /// A source returned the rejected token again.
    static let rejectedTokenAgain = HoldfastError(
        code: .authenticationFailed,
        message: "The origin rejected a token, and the token source returned the same token again."
    )

    /// A source returned an expired token, or the clock is wrong.
    static let expiredToken = HoldfastError(
        code: .authenticationFailed,
        message: "The token source returned an expired token. Check the token source and this machine's clock."
    )
}
