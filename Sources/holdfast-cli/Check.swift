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
            Findings are written to standard error, one line each, and the exit status is 1. The files of certificates ('listen[].tls') are read too: the order of the chain, \
            whether the key belongs to it, its expiry, and whether the hosts of routes are among its names; and those of 'origins'. What does not keep clients from connecting is a line that \
            begins with 'warning:', and does not change the exit status: an expiry within 14 days, a key for RSA, a key that all users may read, an origin whose certificate is not verified, a rule that lifts a directive because of which responses to requests with credentials are shared. The secrets and files of 'shared' are read as well. A valid file is shown with the \
            effective value of each setting, defaults included, and with the responses that its routes cannot serve offline, because a directive \
            forbids it that no rule lifts: must-revalidate, proxy-revalidate, no-cache, s-maxage. With '--store' the stored responses are counted; the store is \
            opened read-only. The exit status is then 0; it is 1 when the store cannot be read, and 64 when the command line is wrong. Nothing is sent anywhere.

            JSON: one object, with the keys valid and findings; for a valid file also settings and offline, and warnings if there are some.

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
        var warnings: [ConfigurationError.Finding]?
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
            for warning in report.warnings ?? [] { StandardStream.error.line("warning: \(warning)") }
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
        let gateway = configuration.routes.isEmpty ? nil : try GatewayConfiguration(configuration)
        let routes = gateway?.routes.routes ?? []
        var warnings = try gateway.map { try examineCertificates($0, configuration) } ?? []
        warnings += try examineOrigins(configuration)
        warnings += configuration.rules.sharingWarnings
        try FleetMember.check(configuration, environment: ProcessInfo.processInfo.environment)
        var offline = OfflineResponses(routes, configuration.rules)
        if let store {
            do {
                try await count(store, &offline)
            } catch {
                throw CommandFailure("\(error)")
            }
        }
        return Report(
            valid: true,
            findings: [],
            warnings: warnings.isEmpty ? nil : warnings,
            settings: configuration.effective,
            offline: offline
        )
    }

    /// - Returns: what does not keep clients from connecting.
    /// - Throws: `ConfigurationError` with what does.
    private func examineCertificates(
        _ gateway: GatewayConfiguration,
        _ configuration: Configuration
    ) throws -> [ConfigurationError.Finding] {
        let found = CertificateFinding.findings(
            of: gateway.listeners,
            routes: gateway.routes.routes,
            at: SystemWallClock().now()
        )
        let line = configuration.effective.settings.first { $0.name == "listen" }?.line
        func findings(_ areErrors: Bool) -> [ConfigurationError.Finding] {
            found.filter { $0.isError == areErrors }.map {
                .init(file: configuration.file, line: line, setting: "listen", message: "\($0)")
            }
        }
        let errors = findings(true)
        guard errors.isEmpty else { throw ConfigurationError(errors) }
        return findings(false)
    }

    /// - Returns: findings that keep no request from an origin: expiries, and protection that is
    ///   taken away.
    /// - Throws: `ConfigurationError` with those that do.
    private func examineOrigins(_ configuration: Configuration) throws -> [ConfigurationError.Finding] {
        var (errors, warnings): ([ConfigurationError.Finding], [ConfigurationError.Finding]) = ([], [])
        for origin in configuration.resolvedOrigins {
            func finding(_ message: String) -> ConfigurationError.Finding {
                .init(
                    file: configuration.file,
                    line: origin.line,
                    subject: "origin '\(origin.url)'",
                    setting: nil,
                    message: message
                )
            }
            for found in CertificateFinding.findings(of: [origin], at: SystemWallClock().now()) {
                if found.isError {
                    errors.append(finding(found.message))
                } else {
                    warnings.append(finding(found.message))
                }
            }
            warnings += (origin.warnings + configuration.mirrorNotes(about: origin)).map(finding)
        }
        guard errors.isEmpty else { throw ConfigurationError(errors) }
        return warnings
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
