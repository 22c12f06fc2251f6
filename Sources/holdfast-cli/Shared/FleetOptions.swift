import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import SharedTier

/// The options of commands that ask the server of a fleet.
struct FleetOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "A configuration file, YAML or JSON, with 'shared'. Default: that of $HOLDFAST_CONFIG.",
            valueName: "file"
        )
    )
    var file: String?

    @Option(help: "For people (text), or for programs (json): one JSON object per line.")
    var format = GatewayPlace.Format.text

    /// The fleet that the file names.
    ///
    /// - Throws: `CommandFailure` if there is none; `ExitCode` 1 for findings of the file.
    func inspection() throws -> FleetInspection {
        let environment = ProcessInfo.processInfo.environment
        guard let path = file ?? ServeVariable.config.value(in: environment) else {
            throw CommandFailure("No configuration file is named. Name it with '--config'.")
        }
        return try Self.inspection(ofFile: path, environment)
    }

    static func inspection(ofFile path: String, _ environment: [String: String]) throws -> FleetInspection {
        try ConfigurationFile.reporting {
            let configuration = try Configuration(withoutValuesOf: path)
            guard let fleet = try FleetInspection(configuration, environment: environment) else {
                throw CommandFailure("'\(path)' shares nothing: 'shared.url' is not set.")
            }
            return fleet
        }
    }
}

/// Lines on standard output: in words, or as JSON objects.
struct ReportLines {
    let format: GatewayPlace.Format

    /// - Throws: `StandardStream.Closed` if the reader needs no more.
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

extension SharedLogError {
    /// The error in words for an operator.
    var words: String {
        switch self {
        case .unreachable: "The server cannot be reached any more."
        case .timedOut: "The server did not reply in time."
        case .cancelled: "The command was cancelled."
        case .wrongEpoch, .lowEpoch: "Another server answers for the log now. Repeat the command."
        case .refused("NOPERM"):
            "The user of 'shared.url' may not read the log. 'holdfast shared check' names what it needs."
        case .refused(let word): "The server rejected the command with '\(word)'. See 'holdfast shared check'."
        case .malformed(let part): "The server's reply has another form than expected (\(part))."
        case .limit(let part): "A limit was exceeded (\(part))."
        }
    }
}
