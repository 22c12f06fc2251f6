/// The operations on a running cache: how an operator steers it and sees its state.
///
/// The control plane and the command line use nothing else. Further ones join here as they are
/// built: a mode with an end, a reload, pins, explanations.
public protocol CacheOperations: StoreOperations {
    /// How much of the network is used.
    var mode: OfflineMode { get }

    /// The origins that are treated as unreachable now, `https://a.example`, in alphabetical order.
    var unreachableOrigins: [String] { get }
}

/// The operations of an engine on its store.
public struct EngineOperations: CacheOperations {
    private let engine: CacheEngine
    private let store: any StoreOperations

    /// - Parameter store: the operations of the same store that the engine uses.
    public init(engine: CacheEngine, store: any StoreOperations) {
        self.engine = engine
        self.store = store
    }

    /// The engine's mode.
    public var mode: OfflineMode { engine.mode }

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
