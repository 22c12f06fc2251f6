package import HTTPCache

extension OfflineMode: TemporaryValue {
    /// The setting's name, `mode`.
    package static var settingName: String { "mode" }
    /// The name of the mode.
    package var logged: String { rawValue }
    /// Returns the engine's mode.
    package static func configured(for engine: CacheEngine) -> OfflineMode { engine.mode }
    /// Sets the engine's mode.
    package func apply(to engine: CacheEngine) { engine.mode = self }
}

/// A mode that an operator set temporarily.
package typealias TemporaryMode = Temporary<OfflineMode>
/// The mode of a running cache, and its source.
package typealias ModeState = TemporaryState<OfflineMode>
/// Switches an engine's mode temporarily.
package typealias ModeSwitch = TemporarySwitch<OfflineMode>
