package import HTTPCache
package import Logging

extension StalenessExtension: TemporaryValue {
    /// The setting's name, `staleness`.
    package static var settingName: String { "staleness" }
    /// The seconds as text.
    package var logged: String { "\(seconds)" }
}

/// An extension that an operator set temporarily.
package typealias TemporaryStaleness = Temporary<StalenessExtension>
/// The extension of a running cache. The configured value is always ``StalenessExtension/none``.
package typealias StalenessState = TemporaryState<StalenessExtension>
/// Temporarily extends the staleness that is allowed for an engine's responses.
package typealias StalenessSwitch = TemporarySwitch<StalenessExtension>

extension TemporarySwitch<StalenessExtension> {
    /// Creates a switch for an engine's staleness extension. At first, there is no extension. See
    /// ``init(configured:store:clock:sleeper:logger:set:)``.
    package init(
        engine: CacheEngine,
        store: any TemporaryStore,
        clock: any WallClock = SystemWallClock(),
        sleeper: any Clock<Duration> = ContinuousClock(),
        logger: Logger
    ) {
        self.init(
            configured: .none,
            store: store,
            clock: clock,
            sleeper: sleeper,
            logger: logger,
            set: { engine.staleness = $0 }
        )
    }
}
