import HTTPCacheOperations
import Holdfast
import HoldfastGateway
import Logging

/// Writes messages at or above a level that can change at run time.
struct LeveledLogHandler: LogHandler {
    /// The format of a message.
    enum Format: String, Sendable, CaseIterable {
        /// Human-readable text.
        case text
        /// One JSON object per line.
        case json
    }

    private var base: any LogHandler
    private let format: Format
    private let levels: LogLevels
    /// The level that a logger sets for itself.
    private var fixed: Logger.Level?

    init(label: String, _ levels: LogLevels, _ format: Format = .text, to output: EventLog) {
        switch format {
        case .text: base = StreamLogHandler(label: label, stream: output)
        case .json: base = JSONLogHandler(label: label, output)
        }
        self.levels = levels
        self.format = format
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

    func log(event: LogEvent) {
        var event = event
        if format == .text { event.metadata = event.metadata?.mapValues(Self.quoted) }
        base.log(event: event)
    }

    /// Returns a value in quotes if it contains a space, so that a reader can tell where it ends.
    private static func quoted(_ value: Logger.MetadataValue) -> Logger.MetadataValue {
        let text: String
        switch value {
        case .string(let string): text = string
        case .stringConvertible(let value): text = "\(value)"
        case .array, .dictionary: return value
        }
        return text.contains(" ") ? "\"\(text.replacing("\"", with: "\\\""))\"" : value
    }
}
