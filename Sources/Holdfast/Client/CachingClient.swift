public import CacheRules
public import HTTPCache
import HTTPCacheSemantics
import HTTPClientTransport
import HTTPTypes
public import Logging
public import OfflineStore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Fetches values from endpoints and stores their responses, so that the same code still works when
/// the network is down.
///
/// ```swift
/// let client = try await CachingClient.open(store: "feed.store")
/// for try await emission in client.startWith(FeedEndpoint()) {
///     print(emission.source, emission.value)      // store, then network
/// }
/// try await client.close()
/// ```
///
/// A client is a private cache (RFC 9111 §1) of one user or one service. Several users' requests
/// may go through one client: the store keeps responses to requests with credentials, or with a
/// principal, separate.
public final class CachingClient: Sendable {
    /// The settings of a client. Every limit has a default.
    public struct Configuration: Sendable {
        /// See ``RequestDefaults``.
        public var defaults: RequestDefaults
        /// The base URL for endpoints without their own. None by default.
        public var environment: ServerEnvironment?
        /// How the API wraps its content. No wrapping by default. An endpoint may override it.
        public var envelope: Envelope?
        /// When failed requests are retried, unless an endpoint or a call overrides it. No retries
        /// by default. See ``RetryPlan``.
        public var retry: RetryPlan
        /// See ``Plugin``.
        public var plugins: [any Plugin]
        /// How much of the network may be used. `automatic` by default.
        public var mode: OfflineMode
        /// Rules that override ``options`` for individual requests, and fields for individual
        /// responses. None by default.
        public var rules: RuleSet
        /// Which responses are kept for offline reads, unless an endpoint or a rule overrides it.
        /// By default, those that HTTP allows.
        public var offlineReads: OfflineReads
        /// Timeouts, limits, the circuit breaker and the guard, unless a rule overrides them.
        public var options: EngineOptions
        /// Prevents content that looks wrong, such as an HTML page or an empty body, from replacing
        /// stored content. It applies to content that is used as bytes (`Data`, ``RawContent``,
        /// ``NoContent``, `String`), because decoding cannot detect the error there. The stored
        /// response is then served (`detail=guarded`). With `nil`, such content is accepted.
        ///
        /// A guard in ``options`` or in a rule takes precedence, and applies to all content.
        public var goodDataGuard: GoodDataGuard?
        /// Decodes content into all types except `Data`, `String` and ``NoContent``. By default,
        /// JSON with ISO 8601 dates.
        public var decoder: any ResponseDecoder
        /// The maximum number of bytes of a response to read into memory for decoding, unless an
        /// endpoint or a call overrides it. A call with a larger response fails with code
        /// `bodyTooLarge`. 64 MiB by default.
        public var maximumBodyBytes: Int
        /// Whether the client requests compressed content (`Accept-Encoding: gzip, deflate`) if the
        /// endpoint does not state what it accepts. The content is stored as received, and
        /// decompressed when it is read, up to ``maximumBodyBytes``. Compressed content that was
        /// not requested is decompressed, too. `true` by default.
        public var acceptsCompression: Bool
        /// The maximum number of bytes of responses that the client keeps in memory for
        /// ``CallOptions/reuseWithin``, because the store does not keep them.
        ///
        /// 8 MiB by default. At most 1,024 responses are kept, and none that is larger than one
        /// eighth of the limit. The oldest responses are removed first. With 0, no response is
        /// kept, and each call makes its own request.
        public var reuseMemoryBytes: Int
        /// The error for a client that would leave out the fleet of the configuration's file; `nil`
        /// if there is no such fleet.
        var missingFleet: ConfigurationError?

        /// Creates a configuration; see the properties for the defaults.
        public init(
            defaults: RequestDefaults = RequestDefaults(),
            environment: ServerEnvironment? = nil,
            envelope: Envelope? = nil,
            retry: RetryPlan = .never,
            plugins: [any Plugin] = [],
            mode: OfflineMode = .automatic,
            rules: RuleSet = .empty,
            offlineReads: OfflineReads = .asAllowed,
            options: EngineOptions = EngineOptions(),
            goodDataGuard: GoodDataGuard? = Configuration.defaultGoodDataGuard,
            decoder: any ResponseDecoder = Configuration.defaultDecoder,
            maximumBodyBytes: Int = 64 << 20,
            acceptsCompression: Bool = true,
            reuseMemoryBytes: Int = 8 << 20
        ) {
            self.defaults = defaults
            self.environment = environment
            self.envelope = envelope
            self.retry = retry
            self.plugins = plugins
            self.mode = mode
            self.rules = rules
            self.offlineReads = offlineReads
            self.options = options
            self.goodDataGuard = goodDataGuard
            self.decoder = decoder
            self.maximumBodyBytes = maximumBodyBytes
            self.acceptsCompression = acceptsCompression
            self.reuseMemoryBytes = reuseMemoryBytes
        }

        /// Rejects an HTML page or an empty body that would replace other content.
        public static var defaultGoodDataGuard: GoodDataGuard {
            var guarding = GoodDataGuard()
            guarding.refusesOtherMediaType = false
            guarding.refusesHTML = true
            return guarding
        }

        /// Decodes JSON with ISO 8601 dates.
        public static var defaultDecoder: any ResponseDecoder {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            return decoder
        }
    }

    /// The store. Use it to keep your own objects, for maintenance, and to read its entries.
    public let store: CacheManager
    let engine: CacheEngine
    let configuration: Configuration
    let logger: Logger
    private let onClose: @Sendable () async throws -> Void
    let plugins: PluginList
    let identities = DecodingIdentities()
    let followed = FollowedChanges()
    /// The changes of ``mode``.
    let modeChanges = ChangeFeed<OfflineMode>()
    /// The calls in progress.
    let calls = CancellationGroup()
    let recent: RecentExchanges
    private let overrides = RuleOverrides()
    let unreadable = UnreadableEndpoints()
    let checked = CheckedEndpoints()
    let clock: any WallClock
    let sleeper: any Clock<Duration>
    private let lastNumber = Atomic<UInt64>(0)

    /// Creates a client with a store and a transport that the caller owns. Close them after the
    /// client.
    ///
    /// - Parameters:
    ///   - clock: the clock for dates and ages.
    ///   - sleeper: the clock for timeouts and for waits between retries.
    public convenience init(
        store: CacheManager,
        transport: any Transport,
        configuration: Configuration = Configuration(),
        clock: any WallClock = SystemWallClock(),
        sleeper: any Clock<Duration> = TimeoutClock(),
        logger: Logger = Logger(label: "holdfast")
    ) {
        self.init(
            store: store,
            transport: transport,
            configuration: configuration,
            clock: clock,
            sleeper: sleeper,
            logger: logger,
            member: nil,
            onClose: {}
        )
    }

    private init(
        store: CacheManager,
        transport: any Transport,
        configuration: Configuration,
        clock: any WallClock,
        sleeper: any Clock<Duration>,
        logger: Logger,
        member: (any FleetMembership)?,
        onClose: @escaping @Sendable () async throws -> Void
    ) {
        self.store = store
        self.configuration = configuration
        self.logger = logger
        self.clock = clock
        self.sleeper = sleeper
        self.onClose = onClose
        plugins = PluginList(configuration.plugins)
        let responses = store.responses
        recent = RecentExchanges(bytes: configuration.reuseMemoryBytes, clock: clock, sleeper: sleeper) {
            responses.invalidationSequence
        }
        let secret = store.credentialSecret
        let rules = configuration.engineRules
        var parts = CacheEngine.Parts(clock: clock, sleeper: sleeper)
        parts.fleet = member?.fleetResponses
        parts.contact = member?.contact
        self.engine = CacheEngine(
            store: responses,
            transport: CallTransport(base: transport) { base in
                // Plugins observe each attempt; the engine sees a single exchange.
                RetryingTransport(
                    base: ObservingTransport(base: ProgressTransport(base: base), clock: sleeper),
                    clock: clock,
                    sleeper: sleeper,
                    logger: logger
                )
            },
            policy: CachePolicy(kind: .private),
            // A closed store has no secret, and no entry that could be found with one.
            credentialSecret: secret.count >= 16 ? secret : (0..<32).map { _ in UInt8.random(in: 0...255) },
            mode: configuration.mode,
            options: configuration.options,
            // Without rules, requests skip the matching.
            rules: rules.isEmpty ? nil : rules,
            parts: parts,
            logger: logger
        )
        EnvironmentSwitch.callExecutor.report(to: logger)
        noteStore(of: configuration.plugins)
    }

    /// Opens a client with its own store and transport. ``close()`` closes both.
    ///
    /// - Parameter folder: the store's folder, created if it does not exist. Only one process at a
    ///   time may write to it.
    /// - Throws: `StoreError` if the folder is not a store, cannot be written, or is in use by
    ///   another process; `ConfigurationError` if the configuration comes from a file with a
    ///   `fleet` section.
    public static func open(
        store folder: String,
        configuration: Configuration = Configuration(),
        storeConfiguration: CacheManager.Configuration = CacheManager.Configuration(),
        transportConfiguration: HTTPClientTransport.Configuration = HTTPClientTransport.Configuration(),
        clock: any WallClock = SystemWallClock(),
        logger: Logger = Logger(label: "holdfast")
    ) async throws -> CachingClient {
        if let error = configuration.missingFleet { throw error }
        return try await open(
            store: folder,
            configuration: configuration,
            storeConfiguration: storeConfiguration,
            transportConfiguration: transportConfiguration,
            clock: clock,
            logger: logger,
            member: { _ in nil }
        )
    }

    /// - Parameter makeMember: makes the store's membership in a fleet, or returns `nil`.
    static func open(
        store folder: String,
        configuration: Configuration,
        storeConfiguration: CacheManager.Configuration,
        transportConfiguration: HTTPClientTransport.Configuration,
        clock: any WallClock,
        logger: Logger,
        member makeMember: (CacheManager) throws -> (any FleetMembership)?
    ) async throws -> CachingClient {
        let store = try await CacheManager.open(
            at: folder,
            configuration: storeConfiguration,
            clock: clock,
            logger: logger
        )
        let member: (any FleetMembership)?
        do {
            member = try makeMember(store)
        } catch {
            try await store.close()
            throw error
        }
        // The first call may purge.
        await member?.join()
        // The task ends with the client, and outlives the task that opens the client.
        let sharing = member.map { member in Task { await member.run() } }
        let transport = HTTPClientTransport(configuration: transportConfiguration, logger: logger)
        return CachingClient(
            store: store,
            transport: transport,
            configuration: configuration,
            clock: clock,
            sleeper: TimeoutClock(),
            logger: logger,
            member: member
        ) {
            await member?.end()
            sharing?.cancel()
            await sharing?.value
            // The folder is released even if the connections cannot be closed.
            let ending: Result<Void, any Error>
            do { ending = .success(try await transport.shutDown()) } catch { ending = .failure(error) }
            try await store.close()
            try ending.get()
        }
    }

    /// Ends all calls in progress, and all streams that follow the store. Closes the store and the
    /// transport if one of the `open` functions created them.
    ///
    /// A call in progress throws `HoldfastError` with code `closed`, no matter what it is waiting
    /// for. A stream that follows the store completes.
    /// - Throws: `StoreError` if the store cannot be closed, or an error of the transport. The
    ///   client is closed even if this throws.
    public func close() async throws {
        followed.close()
        modeChanges.finish()
        calls.cancel()
        recent.close()
        await engine.shutDown()
        try await onClose()
    }

    /// The number of fetches in flight, including fetches that no caller is waiting for.
    package var inFlightFetchCount: Int { engine.inFlightFetchCount }

    /// How much of the network may be used. A change applies to the next request.
    public var mode: OfflineMode {
        get { engine.mode }
        set {
            engine.mode = newValue
            modeChanges.publish(newValue)
        }
    }

    /// Returns the request that an endpoint makes with this client's defaults, before plugins
    /// change it.
    ///
    /// - Throws: `HoldfastError` with code `urlMissing`, `invalidURL`, `parametersMissing`,
    ///   `encodingFailed` or `invalidRule`, or an error of the endpoint's own encoder.
    public func request(for endpoint: any Endpoint) throws -> CacheRequest {
        try request(for: endpoint, softTimeout: nil, offlineReads: nil)
    }

    /// - Parameters:
    ///   - softTimeout: the time to wait for the network if a response is stored.
    ///   - offlineReads: the call's own setting; `nil` uses the endpoint's.
    func request(
        for endpoint: any Endpoint,
        softTimeout: Duration?,
        offlineReads: OfflineReads?
    ) throws -> CacheRequest {
        noteIgnoredProperties(of: endpoint)
        var request = try endpoint.request(environment: configuration.environment, defaults: configuration.defaults)
        let secrets = configuration.defaults.secrets.union(endpoint.secrets)
        if !secrets.isEmpty { request.name(secrets) }
        request.followsRedirects = endpoint.redirects.follows(isMutation: endpoint.isMutation)
        let endpointReads = endpoint.offlineReads.asOptional
        let endpointRule = endpoint.rule.asOptional
        if endpointRule != nil || softTimeout != nil || endpointReads != nil || offlineReads != nil {
            var rule = endpointRule ?? RuleSettings()
            if let softTimeout { rule.softTimeout = .on(softTimeout) }
            // A rule that bypasses the store cannot allow reads from the store.
            if rule.bypass != true {
                rule.stale.ignore =
                    offlineReads?.liftedDirectives ?? rule.stale.ignore ?? endpointReads?.liftedDirectives
            }
            request.overrides = try overrides.override(rule, of: endpoint)
        }
        return request
    }

    /// Tells authenticators which store holds responses of their principals.
    func noteStore(of plugins: [any Plugin]) {
        for case let authenticator as TokenAuthenticator in plugins { authenticator.note(store) }
    }

    /// Returns the number of the next call.
    func nextNumber() -> UInt64 {
        lastNumber.add(1, ordering: .relaxed).newValue
    }
}

extension CacheRequest {
    /// Adds parameters and fields to the secrets.
    mutating func name(_ secrets: Secrets) {
        secretParameters.formUnion(secrets.parameters)
        secretFields.formUnion(secrets.fields)
    }
}
