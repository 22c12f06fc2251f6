import Foundation
import Holdfast
import HoldfastGateway
import Logging

/// Writes each message as a JSON object on one line: `time` (RFC 3339, UTC), `level`, `message`,
/// `logger`, and the message's metadata under its keys.
struct JSONLogHandler: LogHandler {
    /// The maximum length, in bytes, of a message or a metadata value. Longer text is truncated and
    /// ends in `...`.
    private static let limit = 4096

    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let output: EventLog

    init(label: String, _ output: EventLog) {
        self.label = label
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        output.write(line(of: event, at: .now))
    }

    /// Returns the line for a message, including the line break.
    func line(of event: LogEvent, at time: Date) -> String {
        var facts = metadata
        if let provided = metadataProvider?.get() { facts.merge(provided) { $1 } }
        if let own = event.metadata { facts.merge(own) { $1 } }
        if let error = event.error { facts["error"] = "\(error)" }
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        var members = [
            #""time":\#(Self.text(time.formatted(style)))"#, #""level":"\#(event.level)""#,
            #""message":\#(Self.text("\(event.message)"))"#, #""logger":\#(Self.text(label))"#,
        ]
        let taken: Set = ["time", "level", "message", "logger"]
        for (name, value) in facts.sorted(by: { $0.key < $1.key }) where !taken.contains(name) {
            members.append("\(Self.text(name)):\(Self.value(value))")
        }
        return "{\(members.joined(separator: ","))}\n"
    }

    private static func value(_ value: Logger.Metadata.Value) -> String {
        switch value {
        case .string(let string): text(string)
        case .stringConvertible(let value): text("\(value)")
        case .array(let values): "[\(values.map(Self.value).joined(separator: ","))]"
        case .dictionary(let members):
            "{\(members.sorted { $0.key < $1.key }.map { "\(text($0.key)):\(Self.value($0.value))" }.joined(separator: ","))}"
        }
    }

    /// Returns a JSON string in printable ASCII. RFC 8259 §7
    private static func text(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            guard result.utf8.count <= limit else {
                result += "..."
                break
            }
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case " "..."~": result.unicodeScalars.append(scalar)
            default:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return result + "\""
    }
}
