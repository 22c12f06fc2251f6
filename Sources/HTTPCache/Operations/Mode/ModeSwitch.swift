public import Logging

extension OfflineMode: TemporaryValue {
    /// `mode`
    public static var settingName: String { "mode" }
    /// The name of the mode.
    public var logged: String { rawValue }
}

/// A mode that an operator set for a time.
public typealias TemporaryMode = Temporary<OfflineMode>
/// The mode of a running cache, and where it comes from.
public typealias ModeState = TemporaryState<OfflineMode>
/// Switches an engine's mode for a time.
public typealias ModeSwitch = TemporarySwitch<OfflineMode>

extension TemporarySwitch<OfflineMode> {
    /// The engine's mode is the configured one. See
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
