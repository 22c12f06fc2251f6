package import HTTPCache
package import HTTPCacheSemantics
package import HTTPTypes

/// The operations on a running cache, which let an operator control it and inspect its state.
///
/// The control plane and the command line use only these operations.
package protocol CacheOperations: StoreOperations, StoreListing, ConfigurationOperations, RefreshOperations {
    /// The mode in force, and when it ends if it is temporary. An operator can change it
    /// temporarily.
    var modeState: ModeState { get }

    /// Sets a mode temporarily. See ``TemporarySwitch/begin(_:)``.
    func begin(_ mode: TemporaryMode) async throws

    /// Restores the configured mode. See ``TemporarySwitch/end(by:)``.
    func endTemporaryMode(by client: String) async throws

    /// The modes of origins and routes, and the drains of servers, that operators set until a
    /// stated end.
    var switches: Switches { get }

    /// Sets such a mode or drain. See ``SwitchKeeper/set(_:)``.
    func set(_ new: Switch) async throws

    /// Ends such a mode or drain. See ``SwitchKeeper/end(_:by:)``.
    func endSwitch(of subject: Switch.Subject, by client: String) async throws -> Bool

    /// The extension of stale use while origins fail, and its end.
    var stalenessState: StalenessState { get }

    /// Extends stale use temporarily. See ``TemporarySwitch/begin(_:)``.
    func begin(_ staleness: TemporaryStaleness) async throws

    /// Ends the extension. See ``TemporarySwitch/end(by:)``.
    func endTemporaryStaleness(by client: String) async throws

    /// The log level of the program.
    var logLevels: LogLevels { get }

    /// The origins that have routes, are in use, or failed recently, in alphabetical order.
    var origins: [OriginCondition] { get }

    /// The most recent outages of origins that have ended, newest last.
    var endedOutages: [OriginOutage] { get }

    /// Metrics for these origins, by the label `origin`: at most 64 origins, and `other` for the
    /// rest.
    var originNumbers: [OriginNumbers] { get }

    /// The fleet that purges are shared with; `nil` if nothing is shared.
    var sharing: (any SharingOperations)? { get }

    /// The record of individual requests; `nil` if there is none.
    var traffic: (any TrafficOperations)? { get }

    /// The recordings of jobs; `nil` if nothing can be recorded.
    var recordings: (any RecordingOperations)? { get }

    /// Compares a stored response with the response that its origin sends now.
    ///
    /// - Throws: ``ResponseComparison/NotComparable``; ``ExchangeError`` if the origin may not be
    ///   contacted or does not respond; the store's error if it cannot be read.
    func compare(_ entry: Int64, withID id: String) async throws -> ResponseComparison
}

extension CacheOperations {
    /// Always `nil`.
    package var sharing: (any SharingOperations)? { nil }

    /// Always `nil`.
    package var traffic: (any TrafficOperations)? { nil }

    /// Always `nil`.
    package var recordings: (any RecordingOperations)? { nil }

    /// The state of the fleet that purges are shared with; `nil` if nothing is shared.
    package var fleetCondition: FleetCondition? { sharing?.condition }

    /// The origins without those whose names never resolved. A client may have mistyped such a
    /// name, so it does not belong to the gateway's state.
    package var reportedOrigins: [OriginCondition] { origins.filter { $0.reachability != .unresolved } }

    /// The origins that currently count as unreachable, such as `https://a.example`, in
    /// alphabetical order.
    package var unreachableOrigins: [String] {
        origins.filter { $0.reachability == .unreachable }.map(\.origin)
    }
}

/// The operations of an engine and its store.
package struct EngineOperations: CacheOperations {
    private let engine: CacheEngine
    private let store: any StoreOperations & StoreListing
    private let modes: ModeSwitch
    private let keeper: SwitchKeeper
    private let staleness: StalenessSwitch
    private let settings: any ConfigurationOperations
    private let registry = RefreshRegistry()
    /// The fleet that purges are shared with; `nil` if nothing is shared.
    package let sharing: (any SharingOperations)?
    /// The record of individual requests; `nil` if there is none.
    package let traffic: (any TrafficOperations)?
    /// The recordings of jobs; `nil` if nothing can be recorded.
    package let recordings: (any RecordingOperations)?
    /// The log level of the program.
    package let logLevels: LogLevels

    /// - Parameters:
    ///   - store: the operations of the store that the engine uses.
    ///   - modes: switches the engine's mode.
    ///   - switches: sets modes of origins and routes, and drains servers.
    ///   - staleness: extends the engine's stale use.
    ///   - settings: reloads the engine's configuration.
    ///   - logLevels: the levels of the program's loggers.
    ///   - sharing: the fleet that purges are shared with; `nil` if nothing is shared.
    ///   - traffic: the record of individual requests; `nil` if there is none.
    ///   - recordings: the recordings of jobs; `nil` if nothing can be recorded.
    package init(
        engine: CacheEngine,
        store: any StoreOperations & StoreListing,
        modes: ModeSwitch,
        switches: SwitchKeeper,
        staleness: StalenessSwitch,
        settings: any ConfigurationOperations,
        logLevels: LogLevels,
        sharing: (any SharingOperations)? = nil,
        traffic: (any TrafficOperations)? = nil,
        recordings: (any RecordingOperations)? = nil
    ) {
        self.recordings = recordings
        self.sharing = sharing
        self.traffic = traffic
        self.engine = engine
        self.store = store
        self.modes = modes
        keeper = switches
        self.staleness = staleness
        self.settings = settings
        self.logLevels = logLevels
    }

    /// Ends all recordings and refreshes, then the engine. Returns when the last fetch has ended.
    package func shutDown() async {
        await recordings?.close()
        await registry.close()
        await engine.shutDown()
    }

    // MARK: Mode

    /// The engine's mode.
    package var modeState: ModeState { modes.state }

    /// Sets the engine's mode.
    package func begin(_ mode: TemporaryMode) async throws { try await modes.begin(mode) }

    /// Restores the engine's configured mode.
    package func endTemporaryMode(by client: String) async throws { try await modes.end(by: client) }

    // MARK: Switches

    /// The switches in force.
    package var switches: Switches { keeper.switches }

    /// Sets a switch.
    package func set(_ new: Switch) async throws { try await keeper.set(new) }

    /// Ends a switch.
    package func endSwitch(of subject: Switch.Subject, by client: String) async throws -> Bool {
        try await keeper.end(subject, by: client)
    }

    // MARK: Staleness

    /// The extension of the engine's stale use.
    package var stalenessState: StalenessState { staleness.state }

    /// Extends the engine's stale use.
    package func begin(_ staleness: TemporaryStaleness) async throws { try await self.staleness.begin(staleness) }

    /// Ends the extension of the engine's stale use.
    package func endTemporaryStaleness(by client: String) async throws { try await staleness.end(by: client) }

    // MARK: Origins

    /// The origins that have routes or are known to the engine.
    package var origins: [OriginCondition] {
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

    /// The most recent outages of origins that have ended.
    package var endedOutages: [OriginOutage] { engine.origins.endedOutages }

    /// Metrics for these origins.
    package var originNumbers: [OriginNumbers] { engine.originNumbers(with: settings.routedOrigins) }

    // MARK: Configuration

    /// The configuration in force.
    package var configuration: any Encodable & Sendable { settings.configuration }

    /// The source of the configuration.
    package var configurationStatus: ConfigurationStatus { settings.configurationStatus }

    /// The origins that routes lead to.
    package var routedOrigins: [String] { settings.routedOrigins }

    /// The servers of these origins.
    package var originServers: [String: [OriginCondition.Server]] { settings.originServers }

    /// Returns the origin's URL for a URL that clients request.
    package func originURLs(of url: TargetURI) -> [OriginURL] { settings.originURLs(of: url) }

    /// Returns the origins' prefixes for a prefix that clients request.
    package func originPrefixes(of prefix: TargetURI) -> [OriginURL] { settings.originPrefixes(of: prefix) }

    /// The rules of the configuration in force.
    package var ruleUses: [RuleUse] { settings.ruleUses }

    /// The names of the routes.
    package var routeNames: [String] { settings.routeNames }

    /// The modes set for individual routes.
    package var routeModes: [RouteMode] { settings.routeModes }

    /// Reads the configuration file again.
    package func reload(by client: String) async -> ReloadReport { await settings.reload(by: client) }

    /// Explains a request under the configuration in force.
    package func explain(
        _ url: TargetURI,
        _ fields: HTTPFields,
        for client: String?
    ) async throws -> any Encodable & Sendable {
        try await settings.explain(url, fields, for: client)
    }

    // MARK: Refreshes

    /// Reserves a refresh permit, if the engine's mode allows refreshes.
    package func reserveRefresh() throws(RefreshRefusal) { try registry.reserve(engine.mode) }

    /// Returns the permit.
    package func releaseRefresh() { registry.release() }

    /// Starts a refresh through the engine.
    package func beginRefresh(_ scopes: [InvalidationScope], _ report: RefreshReport) {
        let store = store
        registry.begin(report, on: engine) { try await store.invalidated(scopes, from: $0) }
    }

    /// The refreshes that run or ended recently.
    package var refreshes: [RefreshReport] { registry.reports }

    // MARK: Store

    /// The number of the store's last invalidation.
    package var invalidationSequence: InvalidationSequence { store.invalidationSequence }

    /// Invalidates responses in the store. The engine notices the invalidation through the store's
    /// sequence, which every exchange and every hit reads.
    package func invalidate(_ scopes: [InvalidationScope], keepingForOffline: Bool) async throws -> ScopeInvalidation {
        try await store.invalidate(scopes, keepingForOffline: keepingForOffline)
    }

    /// Counts responses in the store.
    package func count(_ scopes: [InvalidationScope], examining limit: Int) async throws -> ScopeCount {
        try await store.count(scopes, examining: limit)
    }

    /// Counts the recorded responses of the store's jobs.
    package func recorded(in scopes: [InvalidationScope], examining limit: Int) async throws -> [String: Int] {
        try await store.recorded(in: scopes, examining: limit)
    }

    /// Reads invalidated responses from the store.
    package func invalidated(_ scopes: [InvalidationScope], from cursor: RefreshCursor) async throws -> RefreshPage {
        try await store.invalidated(scopes, from: cursor)
    }

    /// Pins or unpins responses in the store.
    package func setPinned(_ isPinned: Bool, _ scopes: [InvalidationScope]) async throws -> Int {
        try await store.setPinned(isPinned, scopes)
    }

    /// Returns the space that the store's pinned entries use.
    package func pinUse() async throws -> PinUse { try await store.pinUse() }

    /// Returns the store's condition.
    package func storeCondition() async -> StoreCondition { await store.storeCondition() }

    /// Returns the store's numbers.
    package func statistics() async throws -> StoreStatistics { try await store.statistics() }

    /// The number of bytes that the store has yet to write.
    package var pendingWriteBytes: Int { store.pendingWriteBytes }

    /// Returns a page of the store's responses, by default under the engine's rules.
    package func responses(_ query: ResponseQuery, under rules: RulesInForce?) async throws -> ResponsePage {
        try await store.responses(query, under: rules ?? engine.rulesInForce)
    }

    /// Returns a response from the store.
    package func storedResponse(_ entry: Int64, withID id: String) async throws -> StoredResponse? {
        try await store.storedResponse(entry, withID: id)
    }

    /// Compares the responses through the engine.
    package func compare(_ entry: Int64, withID id: String) async throws -> ResponseComparison {
        guard let stored = try await store.storedResponse(entry, withID: id) else {
            throw ResponseComparison.NotComparable.unknown
        }
        return try await engine.compare(stored)
    }

    /// Returns the variants of a key in the store, by default under the engine's rules.
    package func responses(
        withID id: String,
        showingQueries: Bool,
        under rules: RulesInForce?
    ) async throws -> [ResponseDetails] {
        try await store.responses(withID: id, showingQueries: showingQueries, under: rules ?? engine.rulesInForce)
    }
}
