import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import HoldfastGateway

/// `holdfast check --config FILE`
struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Examines a configuration file, and says what it makes of everything.",
        discussion: """
            All that is wrong is written to standard error, a line for each finding, and the exit status is 1. A file with nothing wrong is shown with the \
            effective value of each setting, defaults included, and with what its routes cannot answer when no origin may be asked, because a directive \
            forbids it that no rule lifts: must-revalidate, proxy-revalidate, no-cache, s-maxage. With '--store' that is counted over what is stored, which is \
            opened for reading alone. The exit status is then 0; it is 1 when the store cannot be read, and 64 when the command line is wrong. Nothing is sent anywhere.

            JSON: one object, with the keys valid and findings, and where it is valid settings and offline.

            Examples:
              holdfast check --config holdfast.yaml
              holdfast check --config holdfast.yaml --store api.store --format json | jq '.offline.routes[].stored'
            """
    )

    /// How the result is written.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Option(name: .customLong("config"), help: ArgumentHelp("A configuration file, YAML or JSON.", valueName: "file"))
    var file: String

    @Option(
        help: "A store's folder: what it holds is counted. The file's own is not looked at unless it is named here."
    )
    var store: String?

    @Option(help: "For people (text), or for programs (json): one JSON object.")
    var format = Format.text

    /// What is written as JSON.
    private struct Report: Encodable {
        var valid: Bool
        var findings: [ConfigurationError.Finding]
        var settings: EffectiveConfiguration?
        var offline: OfflineResponses?
    }

    func run() async throws {
        var report: Report
        do {
            report = try await examine()
        } catch let error as ConfigurationError {
            switch format {
            case .text: for finding in error.findings { StandardStream.error.line("\(finding)") }
            case .json: try write(Report(valid: false, findings: error.findings))
            }
            throw ExitCode.failure
        }
        switch format {
        case .text:
            if let settings = report.settings { try write("\(settings)") }
            if let offline = report.offline, !offline.lines.isEmpty {
                try write("\n" + offline.lines.joined(separator: "\n"))
            }
        case .json: try write(report)
        }
    }

    private func examine() async throws -> Report {
        let configuration = try Configuration(contentsOf: file)
        // Without routes it is a library's.
        let routes = configuration.routes.isEmpty ? [] : try GatewayConfiguration(configuration).routes.routes
        var offline = OfflineResponses(routes, configuration.rules)
        if let store {
            do {
                try await count(store, &offline)
            } catch {
                throw CommandFailure("\(error)")
            }
        }
        return Report(valid: true, findings: [], settings: configuration.effective, offline: offline)
    }

    private func count(_ folder: String, _ offline: inout OfflineResponses) async throws {
        let store = try await CacheManager.openReadOnly(at: folder)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await offline.count(store))
        } catch {
            outcome = .failure(error)
        }
        try await store.close()
        try outcome.get()
    }

    private func write(_ report: Report) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try write(String(decoding: try encoder.encode(report), as: UTF8.self))
    }

    private func write(_ text: String) throws {
        var text = text + "\n"
        do {
            try text.withUTF8 { try StandardStream.output.write(UnsafeRawBufferPointer($0)) }
        } catch is StandardStream.Closed {
            // Whoever reads has enough.
        }
    }
}
