import Holdfast

/// Writes messages to standard error, from a level that can change while the program runs.
struct LeveledLogHandler: LogHandler {
    private var base: StreamLogHandler
    private let levels: LogLevels
    /// Set by a logger for itself.
    private var fixed: Logger.Level?

    init(label: String, _ levels: LogLevels) {
        base = StreamLogHandler.standardError(label: label)
        self.levels = levels
    }

    var logLevel: Logger.Level {
        get { fixed ?? levels.level }
        set { fixed = newValue }
    }

    var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { base.metadataProvider }
        set { base.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) { base.log(event: event) }
}
