public import Logging

extension OfflineMode: TemporaryValue {
    /// The setting's name, `mode`.
    public static var settingName: String { "mode" }
    /// The name of the mode.
    public var logged: String { rawValue }
}

/// A mode that an operator set temporarily.
public typealias TemporaryMode = Temporary<OfflineMode>
/// The mode of a running cache, and its source.
public typealias ModeState = TemporaryState<OfflineMode>
/// Switches an engine's mode temporarily.
public typealias ModeSwitch = TemporarySwitch<OfflineMode>

extension TemporarySwitch<OfflineMode> {
    /// Creates a switch for an engine's mode. At first, the configured mode applies. See
    /// ``init(configured:store:clock:sleeper:logger:set:)``.
    public init(
        engine: CacheEngine,
        store: any TemporaryStore,
        clock: any WallClock = SystemWallClock(),
        sleeper: any Clock<Duration> = ContinuousClock(),
        logger: Logger
    ) {
        self.init(
            configured: engine.mode,
            store: store,
            clock: clock,
            sleeper: sleeper,
            logger: logger,
            set: { engine.mode = $0 }
        )
    }
}
