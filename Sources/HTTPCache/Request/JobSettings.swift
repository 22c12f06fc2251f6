import HTTPCacheSemantics

/// The settings of a job's requests, which override the rules.
struct JobSettings: SettingsOverriding {
    /// Whether the content is part of the key. An API's responses to POST rarely state a lifetime,
    /// so they get one: they are stale immediately, and used when the job is replayed.
    let keysContent: Bool
    /// Whether recorded responses are served whatever their age and their directives.
    let isAsRecorded: Bool

    /// Whether the settings also change requests for which there are no rules.
    var changesDefaults: Bool { keysContent || isAsRecorded }

    /// Ten years, in seconds.
    private static let longLifetime: Int64 = 315_360_000

    func apply(to settings: inout ExchangeSettings) {
        settings.leastUses = 1
        // A job has one identity, so its clients share nothing that the key does not have.
        settings.admitsCredentials = true
        if keysContent {
            // A rule may key content in another form.
            if settings.keyedContent == .asRequested { settings.keyedContent = .any }
            if settings.overrides.defaultLifetime == nil { settings.overrides.defaultLifetime = 0 }
        }
        guard isAsRecorded else { return }
        settings.overrides.lifetime = Self.longLifetime
        settings.overrides.errorLifetime = Self.longLifetime
        settings.overrides.ignoredDirectives.formUnion([.noCache, .mustRevalidate, .proxyRevalidate, .sMaxage])
        settings.overrides.directivesIgnoredWhenStale.formUnion([
            .noStore, .noCache, .mustRevalidate, .proxyRevalidate, .sMaxage, .invalidated,
        ])
        settings.overrides.maximumStalenessOffline = nil
    }
}
