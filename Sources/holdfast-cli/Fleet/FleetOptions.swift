import ArgumentParser
import CommandLineSupport
import FleetTier
import Foundation
import Holdfast
import HoldfastConfiguration
import HoldfastFleet

/// The options of commands that contact a fleet's server.
struct FleetOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "Configuration file, YAML or JSON, with 'fleet'. Default: $HOLDFAST_CONFIG.",
            valueName: "file"
        )
    )
    var file: String?

    @Option(help: "Output format; json prints one JSON object per line.")
    var format = GatewayLocation.Format.text

    /// Returns the fleet in the file.
    ///
    /// - Throws: `ValidationError` if no file is set; `CommandFailure` if it sets no fleet;
    ///   `ExitCode` 1 for findings in the file.
    func inspection() throws -> FleetInspection {
        let environment = ProcessInfo.processInfo.environment
        guard let path = file ?? ServeVariable.config.value(in: environment) else {
            throw ValidationError("No configuration file is set. Use '--config'.")
        }
        return try Self.inspection(ofFile: path, environment)
    }

    static func inspection(ofFile path: String, _ environment: [String: String]) throws -> FleetInspection {
        try ConfigurationFile.reporting {
            let configuration = try Configuration(withoutValuesOf: path)
            guard let fleet = try FleetInspection(configuration, environment: environment) else {
                throw CommandFailure(
                    "'\(path)' does not set 'fleet.url', so the gateway shares no purges. Set 'fleet.url', or name another file with '--config'."
                )
            }
            return fleet
        }
    }
}

/// Writes lines to standard output, as text or as JSON objects.
struct ReportLines {
    let format: GatewayLocation.Format

    /// - Throws: `StandardStream.Closed` if the reader has closed the stream.
    func write(_ report: some Encodable, _ words: @autoclosure () -> String) throws {
        var text: String
        switch format {
        case .text: text = words()
        case .json:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            text = String(decoding: try encoder.encode(report), as: UTF8.self)
        }
        text += "\n"
        try text.withUTF8 { try StandardStream.output.write(UnsafeRawBufferPointer($0)) }
    }
}

extension FleetLogError {
    /// The error in words, for an operator.
    var words: String {
        switch self {
        case .unreachable: "The server can no longer be reached."
        case .timedOut: "The server did not respond in time."
        case .cancelled: "The command was canceled."
        case .wrongEpoch, .lowEpoch: "Another server now serves the log. Repeat the command."
        case .refused("NOPERM"):
            "The user in 'fleet.url' may not read the log. 'holdfast fleet check' shows the rights that it needs."
        case .refused(let word): "The server rejected the command with '\(word)'. Run 'holdfast fleet check'."
        case .malformed(let part): "The server's reply is malformed (\(part))."
        case .limit(let part): "A limit was exceeded (\(part))."
        }
    }
}
