import Holdfast
import HoldfastGateway

/// Writes messages from a level that can change while the program runs.
struct LeveledLogHandler: LogHandler {
    /// How a message is written.
    enum Format: String, Sendable, CaseIterable {
        /// For people.
        case text
        /// A JSON object on each line.
        case json
    }

    private var base: any LogHandler
    private let levels: LogLevels
    /// Set by a logger for itself.
    private var fixed: Logger.Level?

    init(label: String, _ levels: LogLevels, _ format: Format = .text, to output: EventLog) {
        switch format {
        case .text: base = StreamLogHandler(label: label, stream: output)
        case .json: base = JSONLogHandler(label: label, output)
        }
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
