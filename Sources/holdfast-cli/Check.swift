import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import HoldfastGateway

/// `holdfast check --config FILE`
struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks a configuration file, and shows all its effective settings.",
        discussion: """
            Findings are written to standard error, one line each, and the exit status is 1. A valid file is shown with the \
            effective value of each setting, defaults included, and with the responses that its routes cannot serve offline, because a directive \
            forbids it that no rule lifts: must-revalidate, proxy-revalidate, no-cache, s-maxage. With '--store' the stored responses are counted; the store is \
            opened read-only. The exit status is then 0; it is 1 when the store cannot be read, and 64 when the command line is wrong. Nothing is sent anywhere.

            JSON: one object, with the keys valid and findings; for a valid file also settings and offline.

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
        help: """
            A store's folder, whose responses are counted. The file's own store is examined only if it is named here. \
            'holdfast serve' prints the folder that it chooses without '--store'.
            """
    )
    var store: String?

    @Option(help: "For people (text), or for programs (json): one JSON object.")
    var format = Format.text

    /// The output as JSON.
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
        // A configuration without routes is for the library.
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
            // The reader closed the pipe and needs no more.
        }
    }
}
