public import HTTPCacheSemantics
import HTTPTypes
public import Logging
import Synchronization
import Tracing

/// The cache: requests in, responses out, from store or network as RFC 9111, the request's
/// preference and the mode say.
///
/// Both doors, the embedded request layer and the gateway, stand on this one type. It decides
/// nothing itself: ``ExchangeMachine`` and ``FillDecision`` do, as values, and it performs what
/// they say.
public final class CacheEngine: Sendable {
    let store: any ResponseStore
    /// The store, where it can be asked on the calling thread.
    let blockingStore: (any BlockingLookup)?
    let readingPace = ReadingPace()
    /// Whether an event loop may write to it.
    let storeSuspends: Bool
    let transport: any Transport
    /// The transport, where an event loop can use it without a task.
    let callbackTransport: (any CallbackTransport)?
    let policy: CachePolicy
    let clock: any WallClock
    let logger: Logger
    let metrics = ExchangeMetrics()
    let fills = FillRegistry()
    let partitions: CredentialPartition
    let overrides = OverrideCache()
    let origins: OriginRegistry
    let throttle: FailureThrottle
    let health = OriginHealthMetrics()
    let sleeper: any Clock<Duration>
    let deadlines: Deadlines
    let jitter: @Sendable () -> Double
    private let currentMode: Mutex<OfflineMode>
    private let currentSettings: Mutex<EngineSettings>
    /// Whether anybody traces: a span for nobody costs more than a hit.
    let isTraced = !(InstrumentationSystem.tracer is NoOpTracer)
    /// Told of every request, so that it is kept beside the rules.
    private let hasRulesWithPaths: Atomic<Bool>
    /// Counts the changes of what answers are decided by, besides requests and what is stored.
    private let changes = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - policy: private (a client's own cache) or shared, and the heuristics.
    ///   - credentialSecret: keys the HMAC that takes the place of credentials in cache keys; kept
    ///     in the store, so that it outlives the process. At least 16 bytes.
    ///   - options: timeouts, limits, breaker and guard.
    ///   - rules: what holds for single requests and responses in place of policy, options and the
    ///     responses' own fields; `nil` costs nothing.
    ///   - clock: read when a request comes in, and when an answer does.
    ///   - sleeper: what timeouts and probes are timed by.
    ///   - jitter: a number from 0 to 1 for each probe of an origin that is away.
    public init(
        store: any ResponseStore,
        transport: any Transport,
        policy: CachePolicy = CachePolicy(kind: .private),
        credentialSecret: [UInt8],
        mode: OfflineMode = .automatic,
        options: EngineOptions = EngineOptions(),
        rules: (any ExchangeRules)? = nil,
        clock: any WallClock = SystemWallClock(),
        sleeper: any Clock<Duration> = TimeoutClock(),
        jitter: @escaping @Sendable () -> Double = { Double.random(in: 0...1) },
        logger: Logger
    ) {
        precondition(credentialSecret.count >= 16, "A credential secret has at least 16 bytes.")
        precondition(options.inFlightLimit > 0, "'inFlightLimit' is at least 1, or no request could be sent.")
        self.store = store
        self.blockingStore = store as? any BlockingLookup
        self.storeSuspends = store is any SuspendingWrites
        self.transport = transport
        self.callbackTransport = transport as? any CallbackTransport
        self.policy = policy
        self.partitions = CredentialPartition(secret: credentialSecret)
        self.currentMode = Mutex(mode)
        self.currentSettings = Mutex(EngineSettings(options: options, rules: rules))
        self.hasRulesWithPaths = Atomic(rules?.havePaths ?? false)
        self.origins = OriginRegistry(options: options)
        self.throttle = FailureThrottle(duration: options.failureThrottle)
        self.clock = clock
        self.sleeper = sleeper
        self.deadlines = Deadlines(sleeper: sleeper)
        self.jitter = jitter
        self.logger = logger
    }

    /// How much of the network may be used. A change counts for requests that come in after it;
    /// those under way end as they began.
    public var mode: OfflineMode {
        get { currentMode.withLock { $0 } }
        set {
            currentMode.withLock { $0 = newValue }
            settingsChanged()
        }
    }

    /// See ``ExchangeRules/havePaths``.
    package var rulesHavePaths: Bool { hasRulesWithPaths.load(ordering: .acquiring) }

    var options: EngineOptions { settings.options }
    var rules: (any ExchangeRules)? { settings.rules }

    private var settings: EngineSettings { currentSettings.withLock { $0 } }

    /// Takes other options and rules in place of those that it has, for requests that come in after
    /// it. Breakers, fetches and what is stored stay.
    ///
    /// A request that is under way goes on under its rules, and may see either options.
    /// `usesCacheGroups` and `usesNoVarySearch` count for what is stored from now on.
    public func reconfigure(options: EngineOptions, rules: (any ExchangeRules)?) {
        precondition(options.inFlightLimit > 0, "'inFlightLimit' is at least 1, or no request could be sent.")
        currentSettings.withLock { $0 = EngineSettings(options: options, rules: rules) }
        hasRulesWithPaths.store(rules?.havePaths ?? false, ordering: .releasing)
        origins.reconfigure(options)
        throttle.reconfigure(duration: options.failureThrottle)
        settingsChanged()
    }

    /// Ends every ``ResidentHit`` so far: to be called after something else than before decides
    /// about answers.
    package func settingsChanged() { changes.add(1, ordering: .releasing) }

    /// Grows with every change of mode, options or rules: what was decided under another number may
    /// be decided otherwise now.
    package var settingsVersion: UInt64 { changes.load(ordering: .acquiring) }

    /// How much of the network one request may use: the mode, or less where a rule says so.
    package func mode(for request: CacheRequest) -> OfflineMode {
        guard rules != nil || request.overrides != nil else { return mode }
        return prepare(request)?.mode ?? mode
    }

    /// Answers a request.
    ///
    /// It returns when the head is known; the body streams after it. Cancelling the calling task
    /// ends this exchange, and the fetch behind it if nobody else waits for that.
    /// - Throws: ``ExchangeError``, or `CancellationError`.
    @concurrent
    public func respond(to request: CacheRequest) async throws -> CacheResponse {
        guard let prepared = prepare(request) else {
            return try await recording(request) { throw ExchangeError.invalidTarget(request) }
        }
        return try await respond(to: prepared)
    }

    /// The same for a request that was prepared already, a moment ago.
    @concurrent
    package func respond(to prepared: PreparedRequest) async throws -> CacheResponse {
        try await recording(prepared.presented) { try await exchange(prepared) }
    }

    /// The answer to a request whose fetch needs a task after all.
    @concurrent
    package func respond(to direct: DirectFetch) async throws -> CacheResponse {
        // Then the answer is not asked for any more.
        if fills.isClosed { direct.leave() }
        return try await recording(direct.prepared.presented) { try await direct.answer() }
    }

    /// Counts, traces and logs an exchange.
    private func recording(_ request: CacheRequest, _ exchange: () async throws -> CacheResponse) async throws
        -> CacheResponse
    {
        do {
            guard !fills.isClosed else { throw ExchangeError.shutDown(request) }
            let response = try await isTraced ? traced(request, exchange) : exchange()
            record(response, to: request)
            return response
        } catch {
            record(error, of: request)
            throw error
        }
    }

    func record(_ error: any Error, of request: CacheRequest) {
        metrics.record(error)
        logger.debug("Exchange failed", metadata: ["http.method": "\(request.head.method)", "error": "\(error)"])
    }

    func record(_ response: CacheResponse, to request: CacheRequest) {
        metrics.record(response)
        logger.debug(
            "Exchange ended",
            metadata: [
                "http.method": "\(request.head.method)", "http.status": "\(response.head.status.code)",
                "cache.status": "\(response.outcome.cacheStatus())",
            ]
        )
    }

    /// Ends every fetch that is under way and takes no more. Returns when the last has ended.
    public func shutDown() async {
        await origins.close()
        await fills.close()
        deadlines.close()
        settingsChanged()
    }

    /// Fetches under way, those that nobody waits for included.
    package var fillCount: Int { fills.count }

    /// Callers who wait for fetches that are shared, for tests that must know that somebody has
    /// joined.
    package var memberCount: Int { fills.memberCount }

    /// The key under which a request's answer is looked up and, unless it may be shared, stored.
    ///
    /// `nil` where the request names no `http` or `https` target, or its method, its content or a
    /// rule allows no stored answer.
    public func key(for request: CacheRequest) -> CacheKey? {
        prepare(request)?.key
    }

    /// The changes from now on to what is stored for a request's target, whoever makes them: so
    /// that a caller can go on listening.
    ///
    /// Every change that may concern the target is told, in order; a listener that is slow sees the
    /// newest 64. What is stored then is asked for as ever (with
    /// ``CacheRequest/Preference/storedOnly``, say). Ends with the task that reads it, or when the
    /// store is closed.
    public func changes(for request: CacheRequest) -> AsyncStream<StoreChange> {
        guard let target = prepare(request)?.keyedTarget else { return AsyncStream { $0.finish() } }
        return store.changes.changes(of: .target(target))
    }

    /// The changes from now on to what is stored under a tag. Ends with the task that reads it, or
    /// when the store is closed.
    public func changes(tagged tag: String) -> AsyncStream<StoreChange> {
        store.changes.changes(of: .tag(tag))
    }

    private func traced(_ request: CacheRequest, _ exchange: () async throws -> CacheResponse) async throws
        -> CacheResponse
    {
        try await withSpan("cache exchange") { span in
            span.attributes["http.request.method"] = request.head.method.rawValue
            let response = try await exchange()
            // Its text is made for those who read it.
            if span.isRecording {
                span.attributes["http.response.status_code"] = response.head.status.code
                span.attributes["cache.status"] = response.outcome.cacheStatus()
            }
            return response
        }
    }

    private func exchange(_ prepared: PreparedRequest) async throws -> CacheResponse {
        var response: CacheResponse
        if let key = prepared.key {
            var exchange = Exchange(engine: self, prepared: prepared, key: key, now: clock.now())
            response = try await exchange.run()
        } else {
            response = try await forward(prepared)
        }
        if let rules = prepared.rules { rules.edit(&response) }
        return response
    }
}

extension CacheRequest {
    /// Whether a stored response may answer: GET, HEAD, and what is keyed with its content.
    ///
    /// Content that is read once cannot be in the key, so such a request has none.
    var isKeyed: Bool {
        if case .stream = body { return false }
        return head.method == .get || head.method == .head || isContentKeyed
    }
}
