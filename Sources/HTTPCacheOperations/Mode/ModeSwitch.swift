package import HTTPCache
package import Logging

extension OfflineMode: TemporaryValue {
    /// The setting's name, `mode`.
    package static var settingName: String { "mode" }
    /// The name of the mode.
    package var logged: String { rawValue }
}

/// A mode that an operator set temporarily.
package typealias TemporaryMode = Temporary<OfflineMode>
/// The mode of a running cache, and its source.
package typealias ModeState = TemporaryState<OfflineMode>
/// Switches an engine's mode temporarily.
package typealias ModeSwitch = TemporarySwitch<OfflineMode>

extension TemporarySwitch<OfflineMode> {
    /// Creates a switch for an engine's mode. At first, the configured mode applies. See
    /// ``init(configured:store:clock:sleeper:logger:set:)``.
    package init(
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
