package import HTTPCache

extension StalenessExtension: TemporaryValue {
    /// The setting's name, `staleness`.
    package static var settingName: String { "staleness" }
    /// The seconds as text.
    package var logged: String { "\(seconds)" }
    /// Returns ``none``, because only an operator extends staleness.
    package static func configured(for engine: CacheEngine) -> StalenessExtension { .none }
    /// Sets the engine's extension.
    package func apply(to engine: CacheEngine) { engine.staleness = self }
}

/// An extension that an operator set temporarily.
package typealias TemporaryStaleness = Temporary<StalenessExtension>
/// The extension of a running cache. The configured value is always ``StalenessExtension/none``.
package typealias StalenessState = TemporaryState<StalenessExtension>
/// Temporarily extends the staleness that is allowed for an engine's responses.
package typealias StalenessSwitch = TemporarySwitch<StalenessExtension>
