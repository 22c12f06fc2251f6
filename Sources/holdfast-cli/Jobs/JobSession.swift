import ArgumentParser
import CommandLineSupport
import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastGateway
import LibC
import Logging
import NIOCore
import NIOPosix
import RunCertificates
import UnixSignals

/// The options of a command that runs a gateway for a job.
struct JobOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("Configuration file with routes, YAML or JSON.", valueName: "file")
    )
    var file: String?

    @Option(help: ArgumentHelp("http or https URL of the origin.", valueName: "url"))
    var origin: String?

    @Option(help: "Store folder. Default: the folder that 'holdfast serve' uses.")
    var store: String?

    func validate() throws {
        guard file == nil || origin == nil else {
            throw ValidationError("Use '--config' or '--origin', not both: a file's routes have their own origins.")
        }
    }

    /// Whether neither an option nor the environment names an origin or a file.
    private var namesNoOrigin: Bool {
        let environment = ProcessInfo.processInfo.environment
        return file == nil && origin == nil && ServeVariable.config.value(in: environment) == nil
            && ServeVariable.origin.value(in: environment) == nil
    }

    /// Asks whether the rules are those with which a job was recorded.
    var questionAboutFile: String {
        let question =
            isFileUsed
            ? "Was it recorded without '--config', or with another file? Use the same options."
            : "Was it recorded with '--config'? Use the same file."
        return question + " Otherwise, record it again with '--replace'."
    }

    /// Returns the next step after a replay refused requests of a job.
    ///
    /// - Parameter recorded: the origin of the recording, if only the origin differs.
    func nextStep(recordedOrigin recorded: String?) -> String {
        // With a file or a proxy, no option names the origin.
        guard let recorded, !isFileUsed, !namesNoOrigin else { return questionAboutFile }
        return "The job was recorded from '\(recorded)': use '--origin \(recorded)'."
    }

    private var isFileUsed: Bool {
        file != nil || ServeVariable.config.value(in: ProcessInfo.processInfo.environment) != nil
    }

    /// Returns the settings of a gateway on a free port of loopback, without a control plane.
    ///
    /// - Parameter proxy: the options of the proxy, if the command's requests name their origins.
    func settings(
        for job: JobGateway.Use,
        _ proxy: ProxyOptions
    ) throws -> (settings: ServeSettings, named: NamedSettings) {
        let mode = job == .replaying ? Serve.Mode.offline : .automatic
        var words = ["--listen=127.0.0.1:0", "--no-control", "--access-log=off", "--mode=\(mode.rawValue)"]
        words += ["--log-level=error"]
        if let file { words.append("--config=\(file)") }
        if let origin { words.append("--origin=\(origin)") }
        if let store { words.append("--store=\(store)") }
        if namesNoOrigin { words.append("--forward") }
        let serve: Serve
        do {
            serve = try Serve.parse(words)
        } catch {
            throw ValidationError(Serve.message(for: error))
        }
        do {
            let named = try NamedSettings(serve, environment: ProcessInfo.processInfo.environment)
            var settings = try ConfigurationFile.reporting { try ServeSettings(named, for: job) }
            settings.proxy = try proxy.settings(for: settings.proxy)
            return (settings, named)
        } catch let invalid as InvalidSetting {
            throw CommandFailure(invalid.description)
        }
    }
}

/// Runs a command with a gateway in this process.
struct JobSession: Sendable {
    let settings: ServeSettings
    private let named: NamedSettings
    private let signals: UnixSignalsSequence
    private let events = EventLog()
    private let levels = LogLevels(.error)
    private let inherited = InheritedState()
    /// Whether the command runs in a network namespace of its own.
    private let isIsolated: Bool

    init(_ settings: (settings: ServeSettings, named: NamedSettings), isIsolated: Bool) async {
        self.isIsolated = isIsolated
        // Before the command starts, so that none of its signals ends this process.
        signals = await UnixSignalsSequence(trapping: [.sigint, .sigterm, .sighup, .sigquit, .sigusr1, .sigusr2])
        (self.settings, named) = settings
        umask(umask(0o077) | 0o007)
    }

    /// The end of a command that a gateway in this process served.
    struct Ending: Sendable {
        /// The command's exit status.
        var status: CInt
        /// The hosts of requests that the command's proxy could not read, or refused.
        var hosts = UnrecordedHosts()
    }

    /// Opens the store while `body` runs.
    ///
    /// - Throws: `CommandFailure`, `ExitCode`
    func withStore<Value: Sendable>(
        readOnly: Bool,
        _ body: (CacheManager, Logger) async throws -> Value
    ) async throws -> Value {
        let logger = Logger.events(levels, .text, to: events)
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await withOpenStore(readOnly: readOnly, logger) { try await body($0, logger) })
        } catch {
            outcome = .failure(error)
        }
        // Flush the log first, so that the command's error comes last.
        await events.close()
        do {
            return try outcome.get()
        } catch let failure as CommandFailure {
            throw failure
        } catch let code as ExitCode {
            throw code
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    private func withOpenStore<Value: Sendable>(
        readOnly: Bool,
        _ logger: Logger,
        _ body: (CacheManager) async throws -> Value
    ) async throws -> Value {
        let (folder, settings) = (settings.store, settings.storage)
        let store: CacheManager
        if readOnly {
            store = try await CacheManager.openReadOnly(at: folder, configuration: settings, logger: logger)
        } else {
            store = try await CacheManager.open(at: folder, configuration: settings, logger: logger)
        }
        let value: Value
        do {
            value = try await body(store)
        } catch {
            try? await store.close()
            throw error
        }
        try await store.close()
        return value
    }

    /// Runs a command with a gateway for a job, until the command ends.
    ///
    /// - Parameter command: the program and its arguments; empty to print variables for a shell.
    func run(
        _ command: [String],
        with job: JobGateway,
        from store: CacheManager,
        _ logger: Logger
    ) async throws -> Ending {
        // Before this process makes a key.
        let isolated = isIsolated ? try await IsolatedCommand(command, inherited) : nil
        do {
            return try await run(command, isolated, with: job, from: store, logger)
        } catch {
            await isolated?.cancel()
            throw error
        }
    }

    private func run(
        _ command: [String],
        _ isolated: IsolatedCommand?,
        with job: JobGateway,
        from store: CacheManager,
        _ logger: Logger
    ) async throws -> Ending {
        var job = job
        let environment = ProcessInfo.processInfo.environment
        let proxy = try settings.proxy.map { try RunProxy($0, for: job.use, environment: environment) }
        defer { proxy?.end() }
        job.proxy = proxy?.parts
        let group = MultiThreadedEventLoopGroup(numberOfThreads: settings.threads ?? System.coreCount)
        let start = GatewayStart(
            settings: settings,
            named: named,
            listeners: settings.gateway.listeners,
            prepared: try isolated?.prepared(for: settings.gateway.listeners) ?? PreparedListeners([]),
            group: group,
            logger: logger,
            levels: levels,
            events: events,
            job: job
        )
        let outcome: Result<CInt, any Error>
        do {
            let address = try await start.open(store)
            do {
                outcome = .success(try await run(command, isolated, at: address.url, through: proxy))
            } catch {
                outcome = .failure(error)
            }
            await address.close(storesAll: true)
        } catch {
            outcome = .failure(error)
        }
        try? await group.shutdownGracefully()
        return Ending(status: try outcome.get(), hosts: proxy?.hosts ?? UnrecordedHosts())
    }

    /// Runs a command whose requests a gateway at a URL serves, until the command ends.
    ///
    /// - Parameters:
    ///   - command: the program and its arguments; empty to print the variables for a shell.
    ///   - isolated: the process that becomes the command; `nil` to start one.
    ///   - proxy: makes the gateway the command's proxy; `nil` for a base URL.
    /// - Returns: the command's exit status.
    func run(
        _ command: [String],
        _ isolated: IsolatedCommand? = nil,
        at url: String,
        through proxy: RunProxy? = nil
    ) async throws -> CInt {
        let existing = ProcessInfo.processInfo.environment
        var environment = existing
        environment["HOLDFAST_URL"] = proxy == nil ? url : nil
        if let proxy {
            let address = String(url.dropFirst("http://".count))
            environment = try proxy.environment(at: address, over: environment)
        }
        if command.isEmpty {
            await serveShell(ShellVariables(environment, over: existing))
            return 0
        }
        let child =
            try isolated?.begin(with: environment)
            ?? ChildCommand(command, environment: environment, inherited: inherited)
        return await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { for await signal in signals { child.send(signal.rawValue) } }
            defer { tasks.cancelAll() }
            return await child.wait()
        }
    }

    /// Prints variables, and waits until a signal ends the job.
    private func serveShell(_ variables: ShellVariables) async {
        for line in variables.lines { StandardStream.output.line(line) }
        StandardStream.error.line("holdfast serves a shell that sets these variables, until SIGINT or SIGTERM")
        for await signal in signals where [.sigint, .sigterm].contains(signal) { return }
    }
}
