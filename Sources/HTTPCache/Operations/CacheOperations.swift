/// The operations on a running cache: how an operator steers it and sees its state.
///
/// The control plane and the command line use nothing else. Further ones join here as they are
/// built: a reload, pins, explanations.
public protocol CacheOperations: StoreOperations {
    /// How much of the network is used, and until when.
    var modeState: ModeState { get }

    /// Sets a mode for a time. See ``ModeSwitch/begin(_:)``.
    func begin(_ mode: TemporaryMode) async throws

    /// Puts the configured mode into force again. See ``ModeSwitch/end()``.
    func endTemporaryMode() async throws

    /// The origins that are treated as unreachable now, `https://a.example`, in alphabetical order.
    var unreachableOrigins: [String] { get }
}

/// The operations of an engine on its store.
public struct EngineOperations: CacheOperations {
    private let engine: CacheEngine
    private let store: any StoreOperations
    private let modes: ModeSwitch

    /// - Parameters:
    ///   - store: the operations of the same store that the engine uses.
    ///   - modes: switches the same engine.
    public init(engine: CacheEngine, store: any StoreOperations, modes: ModeSwitch) {
        self.engine = engine
        self.store = store
        self.modes = modes
    }

    /// The engine's mode.
    public var modeState: ModeState { modes.state }

    /// Sets the engine's mode.
    public func begin(_ mode: TemporaryMode) async throws { try await modes.begin(mode) }

    /// Puts the engine's configured mode into force again.
    public func endTemporaryMode() async throws { try await modes.end() }

    /// The store's.
    public var invalidationSequence: InvalidationSequence { store.invalidationSequence }

    /// The origins whose breakers are open.
    public var unreachableOrigins: [String] { engine.origins.unreachable.map(\.description).sorted() }

    /// Invalidates in the store. The engine learns of it by the store's sequence, which each
    /// exchange and each hit reads.
    public func invalidate(_ scopes: [InvalidationScope], keepingForOffline: Bool) async throws -> ScopeInvalidation {
        try await store.invalidate(scopes, keepingForOffline: keepingForOffline)
    }

    /// Counts in the store.
    public func count(_ scopes: [InvalidationScope], examining limit: Int) async throws -> ScopeCount {
        try await store.count(scopes, examining: limit)
    }

    /// The store's condition.
    public func storeCondition() async -> StoreCondition { await store.storeCondition() }
}
