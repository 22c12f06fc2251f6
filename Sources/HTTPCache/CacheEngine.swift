public import HTTPCacheSemantics
public import Logging
import Synchronization
import Tracing

/// An HTTP cache that answers requests from its store or from the network.
///
/// RFC 9111, the request's preference and the mode determine which of the two is used. The embedded
/// request layer and the gateway both use this type. The engine makes no decisions of its own: it
/// carries out the decisions of two values, `ReuseMachine` and `FetchDecision`.
///
/// **Serving a request.** There are three entry points. All of them are driven by an
/// `ExchangeFlow`.
/// - ``respond(to:)`` serves every request, in a task (`Exchange`).
/// - `attempt(on:)` serves without a task where possible (`ExchangeAttempt`). On the gateway's
///   event loops, it uses calls and callbacks. On the request layer's calling threads, it serves
///   only from the store. In all other cases, `respond(to:)` continues.
/// - `revalidateHit(_:at:)` checks whether an earlier hit may be repeated unchanged.
///
/// **Storing a response.** `Fetcher` receives the origin's response, and `FetchDecision` decides
/// whether to store it. `Fetcher` then calls ``ResponseStore/beginWrite(_:fencingNumber:)`` with
/// the head, key, expiry and tags (a ``ResponseDraft``), ``StoredResponseWriter/append(_:)`` for
/// each piece of the body, and ``StoredResponseWriter/finish()``. Nothing is visible before
/// `finish()`, which makes one entry visible in one commit. A 304 only writes a new head:
/// ``ResponseStore/freshen(_:with:fencingNumber:)``.
public final class CacheEngine: Sendable {
    package let store: any ResponseStore
    /// The store's ``ResponseStore/blockingLookup``.
    let blockingLookup: (@Sendable (StoreKey) throws -> [StoredResponse])?
    /// The store's ``ResponseStore/immediateLookup``.
    let immediateLookup: (@Sendable (StoreKey) -> [StoredResponse]?)?
    let readingPace = ExecutionContext.ReadingPace()
    let transport: any Transport
    /// The transport's ``Transport/callbacks``.
    let callbacks: TransportCallbacks?
    package let policy: CachePolicy
    package let clock: any WallClock
    package let logger: Logger
    let telemetry: Telemetry
    let inFlightFetches = InFlightFetches()
    /// Looks up responses of other nodes; `nil` if none are shared.
    let finder: PeerLookups?
    /// The lease that limits how long fresh responses are served without validation; `nil` if there
    /// is no limit.
    let contactLease: ContactLease?
    let partitions: CredentialPartition
    /// The job that the engine records or replays; `nil` for the ordinary partitions.
    let job: JobRun?
    let observeJob: (@Sendable (JobExchange) -> Void)?
    let nearestInJob: (@Sendable (JobExchange) async -> NearestRecorded?)?
    let overrides = OverriddenRulesCache()
    package let origins: OriginRegistry
    package let contacts = OriginContacts()
    /// Knows the origins of targets that do not name their origin; `nil` if there are none.
    let targetOrigins: (any TargetOrigins)?
    /// Limits the memory used for stored content of responses in progress.
    package let contentPermits: ContentPermits
    package let throttle: FailureThrottle
    /// The keys whose requests do not wait for each other.
    let unsharedKeys = Mutex(UnsharedKeys())
    /// The uses of responses that a rule stores only after several.
    let useCounts = Mutex(UseCounts())
    package let sleeper: any Clock<Duration>
    let deadlines: Deadlines
    let jitter: @Sendable () -> Double
    private let currentModes: Mutex<EngineModes>
    /// The number of seconds of ``staleness``.
    private let extendedStaleness = Atomic<Int64>(0)
    private let currentSettings: Mutex<Settings>
    /// Whether a tracer is installed. Without a tracer, no span is created, because a span costs
    /// more than a hit.
    let isTraced = !(InstrumentationSystem.tracer is NoOpTracer)
    /// The rules' ``ExchangeRules/havePaths``, kept here because the gateway reads it for every
    /// request.
    private let hasRulesWithPaths: Atomic<Bool>
    private let schemeSelects = Atomic(false)
    private let schemeOfClients = Mutex<String?>(nil)
    /// The number of changes to the mode, staleness, options and rules.
    private let changes = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - policy: private (a client's own cache) or shared, and the heuristics.
    ///   - credentialSecret: the key of the HMAC that replaces credentials in cache keys, at least
    ///     16 bytes. The store keeps it across restarts.
    ///   - options: timeouts, limits, breaker and guard.
    ///   - rules: override the policy, options and the responses' own fields for individual
    ///     requests and responses; `nil` has no cost.
    ///   - parts: the clocks, the counters and the fleet.
    public init(
        store: any ResponseStore,
        transport: any Transport,
        policy: CachePolicy = CachePolicy(kind: .private),
        credentialSecret: [UInt8],
        mode: OfflineMode = .automatic,
        options: EngineOptions = EngineOptions(),
        rules: (any ExchangeRules)? = nil,
        parts: Parts = Parts(),
        logger: Logger
    ) {
        precondition(credentialSecret.count >= 16, "A credential secret must have at least 16 bytes.")
        precondition(options.inFlightLimit > 0, "'inFlightLimit' must be at least 1.")
        self.store = store
        blockingLookup = store.blockingLookup
        immediateLookup = store.immediateLookup
        self.transport = transport
        callbacks = transport.callbacks
        finder = parts.fleet.map { PeerLookups($0) }
        contactLease = parts.contact
        targetOrigins = parts.targetOrigins
        self.policy = policy
        partitions = CredentialPartition(secret: credentialSecret)
        job = parts.job
        observeJob = parts.observeJob
        nearestInJob = parts.nearestInJob
        currentModes = Mutex(EngineModes(mode: mode))
        currentSettings = Mutex(Settings(options: options, rules: rules))
        hasRulesWithPaths = Atomic(rules?.havePaths ?? false)
        contentPermits = ContentPermits(bytes: options.responseMemory)
        origins = OriginRegistry(options: options, labels: parts.telemetry.origins.labels)
        throttle = FailureThrottle(duration: options.failureThrottle)
        clock = parts.clock
        sleeper = parts.sleeper
        deadlines = Deadlines(sleeper: parts.sleeper)
        jitter = parts.jitter
        telemetry = parts.telemetry
        self.logger = logger
    }

    /// Options and rules, replaced as one object. A reader sees both from before a change, or both
    /// from after it.
    private final class Settings: Sendable {
        let options: EngineOptions
        let rules: (any ExchangeRules)?

        init(options: EngineOptions, rules: (any ExchangeRules)?) {
            self.options = options
            self.rules = rules
        }
    }

    /// How much of the network may be used. A change applies to requests that arrive after it.
    /// Requests in progress are not affected.
    public var mode: OfflineMode {
        get { modes.mode }
        set {
            currentModes.withLock { $0.mode = newValue }
            settingsChanged()
        }
    }

    /// Stricter modes for some targets, in addition to ``mode``; `nil`, the default, costs nothing.
    /// A change applies to requests that arrive after it.
    package var targetModes: (any TargetModes)? {
        get { modes.ofTargets }
        set {
            currentModes.withLock { $0.ofTargets = newValue }
            settingsChanged()
        }
    }

    var modes: EngineModes { currentModes.withLock { $0 } }

    /// The minimum staleness that is allowed for every stored response while its origin fails. A
    /// change applies to requests that arrive after it.
    package var staleness: StalenessExtension {
        get { StalenessExtension(seconds: extendedStaleness.load(ordering: .acquiring)) }
        set {
            extendedStaleness.store(newValue.seconds, ordering: .releasing)
            settingsChanged()
        }
    }

    /// See ``CachePolicy/selectsByScheme``. A change applies to requests that arrive after it.
    package var selectsByScheme: Bool {
        get { schemeSelects.load(ordering: .acquiring) }
        set {
            schemeSelects.store(newValue, ordering: .releasing)
            settingsChanged()
        }
    }

    /// The scheme that all clients of a gateway use and that their requests state to origins; `nil`
    /// if there is none. Requests that repeat a client's request state it too.
    package var clientsScheme: String? {
        get { schemeOfClients.withLock { $0 } }
        set { schemeOfClients.withLock { $0 = newValue } }
    }

    /// See ``ExchangeRules/havePaths``.
    package var rulesHavePaths: Bool { hasRulesWithPaths.load(ordering: .acquiring) }

    package var options: EngineOptions { settings.options }
    package var rules: (any ExchangeRules)? { settings.rules }
    /// The rules for tools that read stored responses.
    package var rulesInForce: RulesInForce { RulesInForce(rules, policy) }

    private var settings: Settings { currentSettings.withLock { $0 } }

    /// Replaces options and rules for requests that arrive after the call. Breakers, fetches and
    /// stored responses are kept.
    ///
    /// A request in progress keeps its rules, and may see the old or the new options.
    /// `usesCacheGroups` applies to responses stored after the call.
    public func reconfigure(options: EngineOptions, rules: (any ExchangeRules)?) {
        precondition(options.inFlightLimit > 0, "'inFlightLimit' must be at least 1.")
        currentSettings.withLock { $0 = Settings(options: options, rules: rules) }
        hasRulesWithPaths.store(rules?.havePaths ?? false, ordering: .releasing)
        origins.reconfigure(options)
        contentPermits.reconfigure(bytes: options.responseMemory)
        throttle.reconfigure(duration: options.failureThrottle)
        settingsChanged()
    }

    /// Invalidates every existing ``ImmediateHit``. Call it after a change to anything that affects
    /// decisions about responses.
    package func settingsChanged() { changes.add(1, ordering: .releasing) }

    /// The number of changes to the mode, staleness, options and rules. A decision made under a
    /// different number may no longer be valid.
    package var settingsVersion: UInt64 { changes.load(ordering: .acquiring) }

    /// Returns how much of the network a request may use: the engine's mode, or a stricter mode if
    /// an operator, a rule or the request's own settings set one.
    package func mode(for request: CacheRequest) -> OfflineMode {
        let modes = modes
        guard rules != nil || request.overrides != nil || modes.ofTargets != nil else { return modes.mode }
        return prepare(request)?.mode ?? modes.mode
    }

    /// Returns the origin that gets a target's requests: by default, the one that the target names.
    package func origin(of target: TargetURI) -> Origin { targetOrigins?.origin(of: target) ?? Origin(target) }

    /// Starts no more fetches, and returns when those in progress have ended: bodies whose clients
    /// have left are stored as far as ``UnreadLimit`` allows. Call it before ``shutDown()`` if no
    /// response that a client has received may be lost.
    ///
    /// A client knows the length of a response, and may end when it has the last byte, before the
    /// response is stored. Fetches without a client have no limit of their own, so all are ended
    /// when the longest time of a body without a reader is over.
    package func finishFetches() async {
        let limit = UnreadLimit.time * (UnreadLimit.extensionFactor + 1)
        let deadline = deadlines.begin(limit) { [inFlightFetches] in inFlightFetches.cancelAll() }
        await inFlightFetches.finish()
        _ = deadlines.end(deadline)
    }

    /// Ends all running fetches, and starts no more. Returns when the last one has ended.
    public func shutDown() async {
        await origins.close()
        await inFlightFetches.close()
        deadlines.close()
        settingsChanged()
    }

    /// Returns the origins' metrics, by label.
    ///
    /// - Parameter others: additional origins, such as `https://a.example`.
    package func originNumbers(with others: [String]) -> [OriginNumbers] {
        origins.numbers(with: others, at: clock.now())
    }

    /// The number of fetches in progress, including fetches without a waiting caller.
    package var inFlightFetchCount: Int { inFlightFetches.count }

    /// The number of callers that wait for shared fetches, for metrics. Tests use it to check that
    /// a caller has joined.
    package var memberCount: Int { inFlightFetches.memberCount }

    /// Returns the key under which a request's response is looked up. The response is stored under
    /// the same key, or under the common key if every user may get it.
    ///
    /// `nil` if the request has no `http` or `https` target, or if its method, its content or a
    /// rule does not allow stored responses.
    public func key(for request: CacheRequest) -> StoreKey? {
        prepare(request)?.key
    }

    /// Returns a stream of all changes to the stored responses of a request's target from now on,
    /// whatever their cause.
    ///
    /// Every change that may affect the target is delivered, in order. A slow listener sees the
    /// newest 64 changes. To read the stored response after a change, send a request as usual, for
    /// example with ``CacheRequest/Preference/storedOnly``. The stream ends with the task that
    /// reads it, or when the store is closed.
    public func changes(for request: CacheRequest) -> AsyncStream<StoreChange> {
        guard let target = prepare(request)?.keyedTarget else { return AsyncStream { $0.finish() } }
        return store.changes.changes(of: .target(target))
    }

    /// Returns a stream of all changes to the stored responses with a tag from now on. The stream
    /// ends with the task that reads it, or when the store is closed.
    public func changes(tagged tag: String) -> AsyncStream<StoreChange> {
        store.changes.changes(of: .tag(tag))
    }
}
