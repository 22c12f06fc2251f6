import HTTPCacheSemantics

/// What an ``Authenticator`` knows, and what it does next: events in, decisions out.
///
/// Dates are the wall clock's, pauses are told by a clock that does not jump.
struct TokenState: Sendable {
    /// When tokens are replaced, and how often a source is asked.
    struct Limits: Sendable, Hashable {
        /// A token is replaced so long before it expires, or a quarter of its lifetime where that
        /// is shorter.
        var leeway: Duration
        /// The pause after a failure; it doubles with each further one.
        var pause: Duration
        /// The longest pause.
        var maximumPause: Duration
    }

    /// Both times, read once for each decision.
    struct Instant: Sendable {
        var date: Timestamp
        var uptime: Duration
    }

    /// What a request that needs a token does.
    enum Decision: Sendable {
        /// It goes with this token; where `isRenewed`, its replacement is asked for beside it.
        case go(AccessToken, isRenewed: Bool)
        /// It waits for a token, which is asked for unless it is under way already.
        case wait
        /// It fails, and the source is left alone.
        case fail(HoldfastError)
    }

    private let limits: Limits
    private var token: AccessToken?
    /// Counts what the source is asked: what was asked before somebody logged in or out does not
    /// count any more.
    private var generation = 0
    private var isAsking = false
    private var replacedAt: Timestamp?
    private var receivedAt: Duration?
    /// The token was refused: it is not to be sent again.
    private var isRefused = false
    /// What is told until the pause is over; for good where it says that a login is required.
    private(set) var failure: HoldfastError?
    private var pauseEnd = Duration.zero
    private var failures = 0
    /// Tokens in a row that were refused as soon as they came.
    private var refusals = 0
    /// Values sent before the present one, the newest last: requests under way may still be refused
    /// for them.
    private var earlier: [String] = []

    private static let rememberedTokens = 8

    init(_ token: AccessToken?, _ limits: Limits, at now: Instant) {
        self.limits = limits
        set(token, at: now)
        // How old it is, nobody knows: where it is refused, it is replaced at once.
        receivedAt = nil
    }

    /// Takes a token that the application has.
    mutating func signIn(_ token: AccessToken, at now: Instant) {
        reset()
        set(token, at: now)
    }

    /// Forgets the token; there is none before the application has another.
    mutating func signOut(_ error: HoldfastError, at now: Instant) {
        reset()
        set(nil, at: now)
        earlier = []
        failure = error
    }

    /// The token as it is, for what does not leave the process.
    var known: AccessToken? { token }

    /// Whether a request goes without waiting.
    func isReady(at now: Instant) -> Bool { usable(at: now) != nil }

    /// What a request does that needs a token.
    func needed(at now: Instant) -> Decision {
        let isPausing = failure.map { $0.code == .loginRequired || now.uptime < pauseEnd } ?? false
        if let token = usable(at: now) {
            let isDue = replacedAt.map { now.date >= $0 } ?? false
            return .go(token, isRenewed: isDue && !isPausing && !isAsking)
        }
        if let failure, isPausing { return .fail(failure) }
        return .wait
    }

    /// Asks the source, unless that is under way. What it answers is told with this number.
    mutating func beginAsking() -> Int? {
        guard !isAsking else { return nil }
        isAsking = true
        return generation
    }

    /// The source answered. `false`: that does not count any more.
    mutating func answered(_ new: AccessToken, _ generation: Int, at now: Instant, pause: Duration) -> Bool {
        guard endAsking(generation) else { return false }
        if isRefused, new.value == token?.value {
            fail(.refusedTokenAgain, at: now, pause: pause)
        } else if let expiresAt = new.expiresAt, expiresAt <= now.date {
            fail(.expiredToken, at: now, pause: pause)
        } else {
            (failure, failures) = (nil, 0)
            set(new, at: now)
        }
        return true
    }

    /// The source failed. `false`: that does not count any more.
    mutating func failed(_ error: HoldfastError, _ generation: Int, at now: Instant, pause: Duration) -> Bool {
        guard endAsking(generation) else { return false }
        fail(error, at: now, pause: pause)
        return true
    }

    /// The pause after the next failure.
    var nextPause: Duration { pause(after: failures) }

    /// The origin refused a request with this token: whether the request is to go again, with
    /// another one.
    ///
    /// A token is replaced for that once. Those that are refused as soon as they came are replaced
    /// more and more rarely: they are not what the origin minds.
    mutating func refused(_ value: String, at now: Instant) -> Bool {
        guard let token, token.value == value else { return token != nil && earlier.contains(value) }
        guard !isRefused else { return true }
        // Its replacement is on the way, and may be why the origin takes this one no longer:
        // waiting for it asks nobody anything.
        if isAsking {
            isRefused = true
            return true
        }
        if let receivedAt {
            let age = now.uptime - receivedAt
            guard age >= pause(after: refusals) else { return false }
            refusals = age >= limits.maximumPause ? 0 : refusals + 1
        }
        isRefused = true
        return true
    }

    private func usable(at now: Instant) -> AccessToken? {
        guard let token, !isRefused, token.expiresAt.map({ now.date < $0 }) ?? true else { return nil }
        return token
    }

    private func pause(after failures: Int) -> Duration {
        min(limits.maximumPause, limits.pause * (1 << min(failures, 20)))
    }

    private mutating func endAsking(_ generation: Int) -> Bool {
        guard isAsking, generation == self.generation else { return false }
        self.generation += 1
        isAsking = false
        return true
    }

    private mutating func fail(_ error: HoldfastError, at now: Instant, pause: Duration) {
        failure = error
        failures += 1
        pauseEnd = now.uptime + pause
    }

    private mutating func reset() {
        generation += 1
        isAsking = false
        (failure, failures, refusals, pauseEnd) = (nil, 0, 0, .zero)
    }

    private mutating func set(_ new: AccessToken?, at now: Instant) {
        if let token, token.value != new?.value {
            earlier.append(token.value)
            earlier.removeFirst(max(0, earlier.count - Self.rememberedTokens))
        }
        token = new
        isRefused = false
        receivedAt = now.uptime
        replacedAt = new?.expiresAt.map { expiresAt in
            let lifetime = Duration.milliseconds(max(0, expiresAt.milliseconds(since: now.date)))
            return expiresAt.adding(.zero - min(limits.leeway, lifetime / 4))
        }
    }
}

extension HoldfastError {
    /// A source gave the token again that was refused.
    static let refusedTokenAgain = HoldfastError(
        code: .authenticationFailed,
        message: "The origin refused a token, and its source gave the same one again."
    )

    /// A source gave a token that is of no use, or the clock is wrong.
    static let expiredToken = HoldfastError(
        code: .authenticationFailed,
        message: "The source gave a token that has expired. Check the clock of this machine, too."
    )
}
