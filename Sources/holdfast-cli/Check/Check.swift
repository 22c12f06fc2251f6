import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import HoldfastConfiguration
import HoldfastGateway

/// `holdfast check --config FILE`
struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks a configuration file and shows its effective settings.",
        discussion: """
            Reads the configuration file and everything that 'holdfast serve' needs: the certificates of 'listen[].tls' (order of the chain, matching key, expiry, names of the routes' hosts), those \
            of 'origins', the secrets of 'fleet', the token files, the store's folder and budget, the folder of the access log, the ports and Unix sockets. Run it as the gateway's user. It changes nothing and sends \
            nothing over the network.

            An invalid file prints one line per finding to standard error. A valid file prints the effective value of each setting, defaults included, the responses that its \
            routes cannot serve offline because of a directive that no rule overrides (must-revalidate, proxy-revalidate, no-cache or s-maxage), and a summary. With '--store', the command also counts \
            the stored responses that would get 504 offline, now or as soon as they are stale; the store is opened read-only. Each is counted under one reason:

              route          no client gets it: no route leads there, or another route comes first, such as one with 'respond'.
              scheme         no client finds it, because 'listen' or 'clients.trusted' changed which schemes clients use.
              bypass         rules no longer look it up (bypass, credentials, store.methods, store.statuses).
              key            rules look it up under another key or variant. 'holdfast rules apply' moves it, if possible.
              stale.offline  it is staler than 'stale.offline' allows.
              stale-error    it is an error, such as 404, which is served only while it is fresh.
              partial        it is a partial response, which answers only requests for its bytes.

            Any other reason is the directive that forbids stale use, or 'invalidated' if an unsafe request invalidated the response.

            A value with variables is shown as written, such as '${NAME}', and never with the variable's value. Findings name the file and line, also in files of 'include'.

            A line that begins with 'warning:' does not change the exit status. Examples of warnings: a certificate that expires within 14 days, an origin \
            whose certificate is not verified, a 'store.largest' that exceeds what the store can keep, a port that another process uses, a missing 'store.path', and a rule that overrides a directive that allows responses to requests \
            with credentials to be shared.

            JSON: one object, with the keys valid and findings; for a valid file also summary, settings and offline, and warnings if there are any.

            The exit status is 0 if the file is valid and a gateway could start with it, 1 if not or if the store cannot be read, 64 if the command line is invalid.

            Examples:
              holdfast check --config holdfast.yaml
              holdfast check --config holdfast.yaml --store api.store --format json | jq '.offline.routes[].stored'
            """
    )

    /// The output format.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Option(name: .customLong("config"), help: ArgumentHelp("Configuration file, YAML or JSON.", valueName: "file"))
    var file: String

    @Option(
        help: """
            Store folder whose responses are counted. The store in the file is not counted unless it is also named here. \
            'holdfast serve' prints the folder that it uses by default.
            """
    )
    var store: String?

    @Option(help: "Output format; json prints one JSON object.")
    var format = Format.text

    /// The result as JSON.
    private struct Report: Encodable {
        var valid: Bool
        var findings: [ConfigurationError.Finding]
        var warnings: [ConfigurationError.Finding]?
        var summary: String?
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
            if let summary = report.summary { try write("\n" + summary) }
        case .json: try write(report)
        }
    }

    private func examine() async throws -> Report {
        let configuration = try Configuration(contentsOf: file)
        do {
            return try await examine(configuration)
        } catch let error as ConfigurationError {
            throw ConfigurationError(error.findings.map { configuration.references.hide(in: $0) })
        }
    }

    private func examine(_ configuration: Configuration) async throws -> Report {
        // A configuration without routes is for the library.
        let gateway = configuration.isForGateway ? try GatewayConfiguration(configuration) : nil
        var warnings = try ConfigurationCheck.warnings(of: configuration, gateway)
        if gateway != nil, let warning = warningOfNoStore(configuration) { warnings.append(warning) }
        if let warning = warningOfNoRoutes(configuration) { warnings.append(warning) }
        var offline = OfflineResponses(
            gateway?.routes,
            FixedRoutes(configuration.fixedRoutes),
            configuration.rules,
            schemes: configuration.clientSchemes
        )
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
            warnings: warnings.isEmpty ? nil : warnings.map { configuration.references.hide(in: $0) },
            summary: summary(of: configuration, warnings: warnings.count),
            settings: configuration.effective,
            offline: offline.hiding(configuration.references)
        )
    }

    private func summary(of configuration: Configuration, warnings: Int) -> String {
        func counted(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
        var parts = [counted(configuration.routeCount, "route"), counted(configuration.rules.rules.count, "rule")]
        let budget =
            configuration.reference(in: "store.budget")
            ?? ByteSize.text(CacheManager.Configuration(configuration.store).budget)
        parts.append(
            (configuration.reference(in: "store.path") ?? configuration.storeFolder)
                .map { "store '\($0)' with \(budget)" } ?? "no store"
        )
        if warnings > 0 { parts.append(counted(warnings, "warning")) }
        return "'\(file)' is valid: \(parts.joined(separator: ", "))."
    }

    /// Returns a warning if 'holdfast serve' finds the store's folder neither in the file nor in
    /// the environment. It may still get it as an option.
    private func warningOfNoStore(_ configuration: Configuration) -> ConfigurationError.Finding? {
        let variable = ProcessInfo.processInfo.environment[ServeVariable.store.rawValue] ?? ""
        guard configuration.storeFolder == nil, store == nil, variable.isEmpty else { return nil }
        return configuration.finding(
            "store.path",
            "It is not set: 'holdfast serve --config \(file)' fails without '--store' or HOLDFAST_STORE. "
                + "Set 'store: {path: FOLDER}'."
        )
    }

    /// Returns a warning if a file that says where to listen has no routes. A file of the library,
    /// or of a recording, does not say that.
    private func warningOfNoRoutes(_ configuration: Configuration) -> ConfigurationError.Finding? {
        let variable = ProcessInfo.processInfo.environment[ServeVariable.origin.rawValue] ?? ""
        guard !configuration.isForGateway, !configuration.listeners.isEmpty, variable.isEmpty else { return nil }
        return configuration.finding(
            "routes",
            "There are no routes, so 'holdfast serve' starts only with '--origin' or HOLDFAST_ORIGIN. "
                + "Add 'routes' or 'forward-proxy'. 'holdfast record' and 'replay' need none."
        )
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
            // The reader closed the pipe and needs no more output.
        }
    }
}
