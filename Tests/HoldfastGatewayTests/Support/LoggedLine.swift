import Foundation
import HTTPCache
import HoldfastConfiguration
import Logging
import Testing

@testable import HoldfastGateway

/// A line that a running gateway has logged as JSON.
struct LoggedLine {
    let members: [String: Any]

    subscript(_ name: String) -> String? { members[name].map { "\($0)" } }

    func number(_ name: String) -> Int? { members[name] as? Int }
    func seconds(_ name: String) -> Double? { members[name] as? Double }
    func flag(_ name: String) -> Bool? { members[name] as? Bool }

    /// Runs a gateway, and returns the lines that it has logged in the end, by their connections.
    static func all(
        of origin: String,
        _ level: Configuration.Log.Access = .all,
        mode: OfflineMode = .automatic,
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway) async throws -> Void
    ) async throws -> [LoggedLine] {
        try await logged(level) { log in
            try await RunningGateway.with(
                origin: origin,
                mode: mode,
                accessLog: log,
                configure: configure,
                body
            )
        }
    }

    /// Returns the lines of a log.
    static func logged(
        _ level: Configuration.Log.Access,
        _ body: (AccessLog) async throws -> Void
    ) async throws -> [LoggedLine] {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("access-\(UUID().uuidString).log")
        defer { try? FileManager.default.removeItem(at: file) }
        let logger = Logger(label: "log") { _ in SwiftLogNoOpLogHandler() }
        let log = AccessLog(.init(level: level, format: .json, destination: .file(file.path)), logger: logger)
        try await body(log)
        await log.close(within: .seconds(600))
        // A log without a line may have no file.
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        let lines = try text.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return LoggedLine(members: try #require(object as? [String: Any]))
        }
        // Each event loop hands its lines over for itself, so those of two may change places.
        func place(_ line: LoggedLine) -> (Int, Int) {
            (line.number("connection.id") ?? 0, line.number("connection.requests") ?? 0)
        }
        return lines.sorted { place($0) < place($1) }
    }
}
