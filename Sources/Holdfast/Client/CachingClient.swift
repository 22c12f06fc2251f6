public import HTTPCache
import HTTPCacheSemantics
import HTTPClientTransport
import HTTPTypes
public import HoldfastConfiguration
public import Logging
public import OfflineStore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks endpoints for values and keeps what they answer, so that the same code still answers when
/// the network does not.
///
/// ```swift
/// let client = try await CachingClient.open(store: "feed.store")
/// for try await emission in client.startWith(FeedEndpoint()) {
///     print(emission.source, emission.value)      // store, then network
/// }
/// try await client.close()
/// ```
///
/// It is a private cache (RFC 9111 §1): one user's or one service's own. Requests of several users
/// may go through one client: what is stored for requests with credentials, or with a principal, is
/// kept apart.
public final class CachingClient: Sendable {
    /// What a client is made with. Every limit has a default.
    public struct Configuration: Sendable {
        /// See ``RequestDefaults``.
        public var defaults: RequestDefaults
        /// Where endpoints without a base URL of their own are. None unless told otherwise.
        public var environment: ServerEnvironment?
        /// How the API wraps what it answers. Not at all unless told otherwise; an endpoint may say
        /// otherwise.
        public var envelope: Envelope?
        /// When requests are sent again; only those that change nothing, or are marked idempotent,
        /// ever are. Never unless told otherwise.
        public var retry: RetryPolicy
        /// See ``Plugin``.
        public var plugins: [any Plugin]
        /// How much of the network may be used. `automatic` unless told otherwise.
        public var mode: OfflineMode
        /// What holds for single requests and responses in place of ``options`` and of the
        /// responses' own fields. None unless told otherwise.
        public var rules: RuleSet
        /// Which responses are kept for reads without the network, where neither an endpoint nor a
        /// rule says otherwise. What HTTP allows, unless told otherwise.
        public var offlineReads: OfflineReads
        /// Timeouts, limits, breaker and guard, where no rule says more.
        public var options: EngineOptions
        /// Keeps what is stored from being replaced by what looks wrong, where content is taken as
        /// the bytes that it is (`Data`, ``Content``, ``NoContent``, `String`), so that no decoding
        /// can tell: by a page of HTML, and by nothing at all. What is stored answers then
        /// (`detail=guarded`). `nil`: such content is believed.
        ///
        /// A guard in ``options`` or in a rule goes before it, and holds for all content.
        public var goodDataGuard: GoodDataGuard?
        /// Decodes content that is no `Data`, `String` or ``NoContent``. JSON with ISO 8601 dates
        /// unless told otherwise.
        public var decoder: any ResponseDecoder
        /// Bytes of a response that are read into memory for decoding; beyond it the request fails.
        /// 64 MiB.
        public var maximumBodyBytes: Int
        /// Whether compressed content is asked for (`Accept-Encoding: gzip, deflate`) where an
        /// endpoint does not say what it accepts. It is decompressed for the reader, up to
        /// ``maximumBodyBytes``, and stored as it came. Content that comes compressed unasked is
        /// decompressed all the same. `true`.
        public var acceptsCompression: Bool
        /// Bytes of responses that ``CallOptions/reuseWithin`` keeps in memory, because the store
        /// does not keep them.
        ///
        /// 8 MiB, in 1,024 responses at most, none larger than an eighth of it; the oldest go
        /// first. With 0 none is kept, and each call asks for itself.
        public var reuseMemoryBytes: Int

        /// The defaults.
        public init(
            defaults: RequestDefaults = RequestDefaults(),
            environment: ServerEnvironment? = nil,
            envelope: Envelope? = nil,
            retry: RetryPolicy = .never,
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

        /// Refuses pages of HTML and empty bodies in place of something else.
        public static var defaultGoodDataGuard: GoodDataGuard {
            var guarding = GoodDataGuard()
            guarding.refusesOtherMediaType = false
            guarding.refusesHTML = true
            return guarding
        }

        /// JSON with ISO 8601 dates.
        public static var defaultDecoder: any ResponseDecoder {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            return decoder
        }
    }

    /// The store: for objects of one's own, for maintenance, for a look inside.
    public let store: CacheManager
    let engine: CacheEngine
    let configuration: Configuration
    let logger: Logger
    private let onClose: @Sendable () async throws -> Void
    let plugins: PluginList
    let identities = DecodingIdentities()
    let followed = FollowedChanges()
    let recent: RecentExchanges
    private let overrides = RuleOverrides()
    let unreadable = UnreadableEndpoints()
    let clock: any WallClock
    let sleeper: any Clock<Duration>
    private let lastNumber = Atomic<UInt64>(0)

    /// A client on a store and a transport that the caller made, and closes after the client.
    ///
    /// - Parameters:
    ///   - clock: tells dates and ages.
    ///   - sleeper: what timeouts and waits between retries are timed by.
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
        self.engine = CacheEngine(
            store: responses,
            transport: CallTransport(base: transport) { base in
                // Each attempt is seen by those who look on; the engine sees one exchange.
                RetryingTransport(
                    base: ObservingTransport(base: ProgressTransport(base: base), clock: sleeper),
                    clock: clock,
                    sleeper: sleeper,
                    logger: logger
                )
            },
            policy: CachePolicy(kind: .private),
            // A store that is closed has no secret any more, and nothing that could be found under
            // it.
            credentialSecret: secret.count >= 16 ? secret : (0..<32).map { _ in UInt8.random(in: 0...255) },
            mode: configuration.mode,
            options: configuration.options,
            // No rules cost nothing.
            rules: rules.isEmpty ? nil : rules,
            clock: clock,
            sleeper: sleeper,
            logger: logger
        )
    }

    /// A client with a store and a transport of its own; ``close()`` closes both.
    ///
    /// - Parameter folder: the store's folder; made where there is none. One process at a time
    ///   writes to it.
    /// - Throws: `StoreError`: the folder is no store, cannot be written, or another process has
    ///   it.
    public static func open(
        store folder: String,
        configuration: Configuration = Configuration(),
        storeConfiguration: CacheManager.Configuration = CacheManager.Configuration(),
        transportConfiguration: HTTPClientTransport.Configuration = HTTPClientTransport.Configuration(),
        clock: any WallClock = SystemWallClock(),
        logger: Logger = Logger(label: "holdfast")
    ) async throws -> CachingClient {
        let store = try await CacheManager.open(
            at: folder,
            configuration: storeConfiguration,
            clock: clock,
            logger: logger
        )
        let transport = HTTPClientTransport(configuration: transportConfiguration, logger: logger)
        return CachingClient(
            store: store,
            transport: transport,
            configuration: configuration,
            clock: clock,
            sleeper: TimeoutClock(),
            logger: logger
        ) {
            // The folder is let go of whatever becomes of the connections.
            let ending: Result<Void, any Error>
            do { ending = .success(try await transport.shutDown()) } catch { ending = .failure(error) }
            try await store.close()
            try ending.get()
        }
    }

    /// Ends what is under way, streams that follow the store among it, and closes store and
    /// transport where
    /// ``open(store:configuration:storeConfiguration:transportConfiguration:clock:logger:)`` made
    /// them.
    public func close() async throws {
        followed.close()
        recent.close()
        await engine.shutDown()
        try await onClose()
    }

    /// Fetches under way, those that nobody waits for included.
    package var fillCount: Int { engine.fillCount }

    /// How much of the network may be used; counts from the next request on.
    public var mode: OfflineMode {
        get { engine.mode }
        set { engine.mode = newValue }
    }

    /// Answers a request as it stands, without decoding: the raw response, streamed.
    ///
    /// - Throws: `ExchangeError`, or `CancellationError`.
    public func respond(to request: CacheRequest) async throws -> CacheResponse {
        try await engine.respond(to: request)
    }

    /// The request that an endpoint stands for, with this client's defaults; plugins have not
    /// changed it.
    ///
    /// - Throws: ``HoldfastError`` with code `urlMissing`, `invalidURL`, `parametersMissing`,
    ///   `encodingFailed` or `invalidRule`.
    public func request(for endpoint: any Endpoint) throws -> CacheRequest {
        try request(for: endpoint, softTimeout: nil, offlineReads: nil)
    }

    /// - Parameters:
    ///   - softTimeout: how long the network is waited for where something is stored.
    ///   - offlineReads: the call's; `nil`: as the endpoint says.
    func request(
        for endpoint: any Endpoint,
        softTimeout: Duration?,
        offlineReads: OfflineReads?
    ) throws -> CacheRequest {
        var request = try endpoint.request(environment: configuration.environment, defaults: configuration.defaults)
        let secrets = configuration.defaults.secrets.union(endpoint.secrets)
        if !secrets.isEmpty { request.name(secrets) }
        let endpointReads = endpoint.offlineReads
        if endpoint.rule != nil || softTimeout != nil || endpointReads != nil || offlineReads != nil {
            var rule = endpoint.rule ?? RuleSettings()
            if let softTimeout { rule.softTimeout = .on(softTimeout) }
            // A rule that keeps the store out has nothing to say of what is read from it.
            if rule.bypass != true {
                rule.stale.despite =
                    offlineReads?.liftedDirectives ?? rule.stale.despite ?? endpointReads?.liftedDirectives
            }
            request.overrides = try overrides.override(rule, of: endpoint)
        }
        return request
    }

    /// The number of the next call.
    func nextNumber() -> UInt64 {
        lastNumber.add(1, ordering: .relaxed).newValue
    }
}

extension CacheRequest {
    /// Says which of its parameters and fields are secrets, beside those that are named already.
    mutating func name(_ secrets: Secrets) {
        secretParameters.formUnion(secrets.parameters)
        secretFields.formUnion(secrets.fields)
    }
}
