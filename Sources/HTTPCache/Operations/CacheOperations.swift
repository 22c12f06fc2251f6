public import HTTPCacheSemantics
public import HTTPTypes

/// The operations on a running cache: how an operator steers it and sees its state.
///
/// The control plane and the command line use nothing else.
public protocol CacheOperations: StoreOperations, StoreListing, ConfigurationOperations, RefreshOperations {
    /// How much of the network is used, and until when.
    var modeState: ModeState { get }

    /// Sets a mode for a time. See ``TemporarySwitch/begin(_:)``.
    func begin(_ mode: TemporaryMode) async throws

    /// Puts the configured mode into force again. See ``TemporarySwitch/end(by:)``.
    func endTemporaryMode(by client: String) async throws

    /// How far stale use is extended while origins fail, and until when.
    var stalenessState: StalenessState { get }

    /// Extends stale use for a time. See ``TemporarySwitch/begin(_:)``.
    func begin(_ staleness: TemporaryStaleness) async throws

    /// Ends the extension. See ``TemporarySwitch/end(by:)``.
    func endTemporaryStaleness(by client: String) async throws

    /// The log level of the program.
    var logLevels: LogLevels { get }

    /// The origins that are routed to, are asked, or failed lately, in alphabetical order.
    var origins: [OriginCondition] { get }

    /// The last outages of origins that are over, the latest one last.
    var endedOutages: [OriginOutage] { get }

    /// The numbers of the same origins for metrics, by the label `origin`: at most 64 and `other`.
    var originNumbers: [OriginNumbers] { get }

    /// The fleet with which purges are shared; `nil` if nothing is shared.
    var sharing: (any SharingOperations)? { get }

    /// The memory of single requests; `nil` if there is none.
    var traffic: (any TrafficOperations)? { get }

    /// Compares a stored response with the one that its origin sends now.
    ///
    /// - Throws: ``ResponseComparison/Refusal``; ``ExchangeError`` if the origin may not be asked
    ///   or does not respond; the store's error if it cannot be read.
    func compare(_ entry: Int64, withID id: String) async throws -> ResponseComparison
}

extension CacheOperations {
    /// `nil`
    public var sharing: (any SharingOperations)? { nil }

    /// `nil`
    public var traffic: (any TrafficOperations)? { nil }

    /// The state of what is shared with other nodes; `nil` if nothing is.
    public var fleetCondition: FleetCondition? { sharing?.condition }

    /// The origins that are treated as unreachable now, `https://a.example`, in alphabetical order.
    public var unreachableOrigins: [String] {
        origins.filter { $0.reachability == .unreachable }.map(\.origin)
    }
}

/// The operations of an engine on its store.
public struct EngineOperations: CacheOperations {
    private let engine: CacheEngine
    private let store: any StoreOperations & StoreListing
    private let modes: ModeSwitch
    private let staleness: StalenessSwitch
    private let settings: any ConfigurationOperations
    /// The fleet with which purges are shared; `nil` if nothing is shared.
    public let sharing: (any SharingOperations)?
    /// The memory of single requests; `nil` if there is none.
    public let traffic: (any TrafficOperations)?
    /// The log level of the program.
    public let logLevels: LogLevels

    /// - Parameters:
    ///   - store: the operations of the same store that the engine uses.
    ///   - modes: switches the same engine.
    ///   - staleness: extends stale use of the same engine.
    ///   - settings: reloads the configuration of the same engine.
    ///   - logLevels: the levels of the program's loggers.
    ///   - sharing: the fleet with which purges are shared; `nil` if nothing is shared.
    ///   - traffic: the memory of single requests; `nil` if there is none.
    public init(
        engine: CacheEngine,
        store: any StoreOperations & StoreListing,
        modes: ModeSwitch,
        staleness: StalenessSwitch,
        settings: any ConfigurationOperations,
        logLevels: LogLevels,
        sharing: (any SharingOperations)? = nil,
        traffic: (any TrafficOperations)? = nil
    ) {
        self.sharing = sharing
        self.traffic = traffic
        self.engine = engine
        self.store = store
        self.modes = modes
        self.staleness = staleness
        self.settings = settings
        self.logLevels = logLevels
    }

    // MARK: Mode

    /// The engine's mode.
    public var modeState: ModeState { modes.state }

    /// Sets the engine's mode.
    public func begin(_ mode: TemporaryMode) async throws { try await modes.begin(mode) }

    /// Puts the engine's configured mode into force again.
    public func endTemporaryMode(by client: String) async throws { try await modes.end(by: client) }

    // MARK: Staleness

    /// The engine's extension.
    public var stalenessState: StalenessState { staleness.state }

    /// Extends the engine's stale use.
    public func begin(_ staleness: TemporaryStaleness) async throws { try await self.staleness.begin(staleness) }

    /// Ends the engine's extension.
    public func endTemporaryStaleness(by client: String) async throws { try await staleness.end(by: client) }

    // MARK: Origins

    /// The origins of the routes, and those that the engine knows.
    public var origins: [OriginCondition] {
        let known = engine.origins.conditions
        let names = Set(known.map(\.origin))
        let others = Set(settings.routedOrigins).subtracting(names).map(OriginCondition.init)
        let servers = settings.originServers
        return (known + others).sorted { $0.origin < $1.origin }.map { origin in
            var origin = origin
            origin.servers = servers[origin.origin] ?? []
            return origin
        }
    }

    /// The last outages of origins that are over.
    public var endedOutages: [OriginOutage] { engine.origins.endedOutages }

    /// The numbers of the same.
    public var originNumbers: [OriginNumbers] { engine.originNumbers(with: settings.routedOrigins) }

    // MARK: Configuration

    /// The configuration in force.
    public var configuration: any Encodable & Sendable { settings.configuration }

    /// Where it comes from.
    public var configurationStatus: ConfigurationStatus { settings.configurationStatus }

    /// The origins of the routes.
    public var routedOrigins: [String] { settings.routedOrigins }

    /// The servers of those origins.
    public var originServers: [String: [OriginCondition.Server]] { settings.originServers }

    /// The rules of the configuration in force.
    public var ruleUses: [RuleUse] { settings.ruleUses }

    /// The routes' own modes.
    public var routeModes: [RouteMode] { settings.routeModes }

    /// Reads the file again.
    public func reload(by client: String) async -> ReloadReport { await settings.reload(by: client) }

    /// Explains a request by the configuration in force.
    public func explain(_ url: TargetURI, _ fields: HTTPFields) async throws -> any Encodable & Sendable {
        try await settings.explain(url, fields)
    }

    // MARK: Refreshes

    /// Takes a permit of the engine.
    public func reserveRefresh() throws(RefreshRefusal) { try engine.refreshes.reserve(engine.mode) }

    /// Gives it back.
    public func releaseRefresh() { engine.refreshes.release() }

    /// Begins a refresh through the engine.
    public func beginRefresh(_ scopes: [InvalidationScope], _ report: RefreshReport) {
        let store = store
        engine.refreshes.begin(report, on: engine) { try await store.invalidated(scopes, from: $0) }
    }

    /// The engine's refreshes.
    public var refreshes: [RefreshReport] { engine.refreshes.reports }

    // MARK: Store

    /// The store's.
    public var invalidationSequence: InvalidationSequence { store.invalidationSequence }

    /// Invalidates in the store. The engine learns of it by the store's sequence, which each
    /// exchange and each hit reads.
    public func invalidate(_ scopes: [InvalidationScope], keepingForOffline: Bool) async throws -> ScopeInvalidation {
        try await store.invalidate(scopes, keepingForOffline: keepingForOffline)
    }

    /// Counts in the store.
    public func count(_ scopes: [InvalidationScope], examining limit: Int) async throws -> ScopeCount {
        try await store.count(scopes, examining: limit)
    }

    /// Reads in the store.
    public func invalidated(_ scopes: [InvalidationScope], from cursor: RefreshCursor) async throws -> RefreshPage {
        try await store.invalidated(scopes, from: cursor)
    }

    /// Pins in the store.
    public func setPinned(_ isPinned: Bool, _ scopes: [InvalidationScope]) async throws -> Int {
        try await store.setPinned(isPinned, scopes)
    }

    /// The store's pins.
    public func pinUse() async throws -> PinUse { try await store.pinUse() }

    /// The store's condition.
    public func storeCondition() async -> StoreCondition { await store.storeCondition() }

    /// The store's numbers.
    public func summary() async throws -> StoreSummary { try await store.summary() }

    /// The store's measures.
    public func measures() async throws -> StoreMeasures { try await store.measures() }

    /// The store's.
    public var pendingWriteBytes: Int { store.pendingWriteBytes }

    /// A page of the store's responses.
    public func responses(_ query: ResponseQuery) async throws -> ResponsePage { try await store.responses(query) }

    /// The store's.
    public func storedResponse(_ entry: Int64, withID id: String) async throws -> StoredResponse? {
        try await store.storedResponse(entry, withID: id)
    }

    /// Asks through the engine.
    public func compare(_ entry: Int64, withID id: String) async throws -> ResponseComparison {
        guard let stored = try await store.storedResponse(entry, withID: id) else {
            throw ResponseComparison.Refusal.unknown
        }
        return try await engine.compare(stored)
    }

    /// The variants of a key in the store.
    public func responses(withID id: String, showingQueries: Bool) async throws -> [ResponseDetails] {
        try await store.responses(withID: id, showingQueries: showingQueries)
    }
}
