import ArgumentParser
import CommandLineSupport
import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastGateway
import Logging

/// `holdfast jobs --store FOLDER`
struct Jobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the jobs of a store, and whether each would run without the network.",
        discussion: """
            Shows for each job whether 'holdfast replay' would answer every request now, and until when. Otherwise, lists the requests that would be refused, with the reasons. \
            The command sends nothing, and changes nothing except with '--remove'. A gateway may have the store open.

            With '--config', the rules of the file apply, as in 'holdfast replay' with the same file. \
            If these rules key the content of POST requests differently than the rules of the recording, the requests count as refused, because a job contains only digests of content.

            The prediction covers only HTTP. A client may reject a response for its own reasons, such as an expired signature. Only 'holdfast replay' shows that.

            JSON: a list of objects, with the keys name, made, command, requests, wouldRun, until, endedBy, refused, refusedCount, passed, doubtful, cookies, unread and refusedHosts. Times are in milliseconds since 1970 (UTC).

            The exit status is 1 if a job would not run, or the store or a file cannot be read; 64 if the command line is invalid.

            Examples:
              holdfast jobs
              holdfast jobs --origin https://registry.npmjs.org
              holdfast jobs deps --config holdfast.yaml --format json
              holdfast jobs deps --remove --config holdfast.yaml
            """
    )

    @Argument(help: "Name of a job. Default: all jobs.")
    var name: String?

    @OptionGroup var options: JobOptions

    @Flag(help: "Remove the job and its responses. The store must not be open in another process.")
    var remove = false

    @Option(help: "Output format; json prints one JSON list.")
    var format = Explain.Format.text

    func validate() throws {
        if let name { _ = try JobName(argument: name) }
        if remove, name == nil { throw ValidationError("'--remove' needs the name of a job.") }
    }

    func run() async throws {
        let name = try name.map { try JobName(argument: $0) }
        let (folder, file) = try options.place()
        let logger = Logger(label: "holdfast") { _ in SwiftLogNoOpLogHandler() }
        do {
            if remove, let name { return try await removeJob(name, in: folder, file, logger) }
            let store = try await CacheManager.openReadOnly(at: folder, logger: logger)
            let outcome: Result<([JobReport], Bool), any Error>
            do {
                outcome = .success(try await reports(name, JobJudge(store: store, file: file, logger: logger)))
            } catch {
                outcome = .failure(error)
            }
            try await store.close()
            let (reports, isComplete) = try outcome.get()
            if isComplete || !reports.isEmpty { try write(reports, folder) }
            if !isComplete || reports.contains(where: { !$0.wouldRun }) { throw ExitCode.failure }
        } catch is StandardStream.Closed {
            return
        } catch let code as ExitCode {
            throw code
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// Returns the reports, and whether there is one of each job: a job that cannot be read hides
    /// no other.
    private func reports(_ name: JobName?, _ judge: JobJudge) async throws -> ([JobReport], Bool) {
        let instant = SystemWallClock().now()
        if let name {
            guard let (header, forecast) = try await judge.forecast(of: name, at: instant) else {
                throw CommandFailure(
                    "The store '\(judge.store.folder)' has no job '\(name)'. 'holdfast jobs' lists its jobs."
                )
            }
            return ([JobReport(header, forecast, question: options.questionAboutFile)], true)
        }
        var reports: [JobReport] = []
        var isComplete = true
        for job in try judge.store.jobs.names {
            do {
                guard let (header, forecast) = try await judge.forecast(of: job, at: instant) else { continue }
                reports.append(JobReport(header, forecast, question: options.questionAboutFile))
            } catch {
                StandardStream.error.line("Error: \(error)")
                isComplete = false
            }
        }
        return (reports, isComplete)
    }

    private func removeJob(_ name: JobName, in folder: String, _ file: Configuration, _ logger: Logger) async throws {
        let settings = CacheManager.Configuration(file.store)
        let store = try await CacheManager.open(at: folder, configuration: settings, logger: logger)
        let outcome: Result<Bool, any Error>
        do {
            outcome = .success(try await store.removeJob(name, at: SystemWallClock().now()))
        } catch {
            outcome = .failure(error)
        }
        try await store.close()
        guard try outcome.get() else { throw CommandFailure("The store '\(folder)' has no job '\(name)'.") }
    }

    private func write(_ reports: [JobReport], _ folder: String) throws {
        var text: String
        switch format {
        case .text:
            text =
                reports.isEmpty
                ? "The store '\(folder)' has no jobs. 'holdfast record' records one."
                : reports.map(\.text).joined(separator: "\n")
        case .json:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            text = String(decoding: try encoder.encode(reports), as: UTF8.self)
        }
        text += "\n"
        try text.withUTF8 { try StandardStream.output.write(UnsafeRawBufferPointer($0)) }
    }
}

extension JobOptions {
    /// Returns the store's folder, and the configuration whose rules apply.
    ///
    /// - Throws: `ValidationError` for an invalid origin; `CommandFailure`; `ExitCode`.
    func place() throws -> (folder: String, file: Configuration) {
        let environment = ProcessInfo.processInfo.environment
        let path = file ?? ServeVariable.config.value(in: environment)
        let configuration = try path.map { try ConfigurationFile.readWithoutValues($0) } ?? Configuration()
        if let folder = store ?? ServeVariable.store.value(in: environment) ?? configuration.storeFolder {
            return (folder, configuration)
        }
        let standard = DefaultStore(environment: environment)
        guard let origin = origin ?? ServeVariable.origin.value(in: environment) else {
            return (try standard.pathOfJobs, configuration)
        }
        do {
            return (try standard.path(for: GatewayOrigin(origin)), configuration)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw ValidationError("'--origin': \(error)")
        }
    }
}
