import ArgumentParser
import CommandLineSupport
import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Holdfast
import HoldfastControl
import HoldfastGateway
import Synchronization

/// `holdfast record NAME [--origin URL] -- COMMAND`
struct Record: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Records the requests of a command, to replay them without the network.",
        discussion: """
            Runs the command with a gateway in this process. HOLDFAST_URL contains the gateway's address. The requests that the command sends there become the job NAME. \
            A job is useful only if every request in it can be answered. 'holdfast replay' runs the command again without the network, and 'holdfast jobs' predicts whether that would work.

            The responses are stored in the job's own partition, which no gateway serves. GET requests are recorded, and also answer HEAD requests. With '--post', POST requests are recorded by their content. \
            Other requests are forwarded and counted.

            Credentials are sent to the origin, but never recorded: 'Authorization', cookies, API keys in fields, and parameters such as 'api_key'. If a URL has another parameter that may be a secret, such as 'state', the request is forwarded but not recorded. \
            Use '--secret' if the parameter is a credential, and '--public' if it is not. A job has one identity at each origin: requests with other credentials are forwarded, not recorded, and reported.

            The job is saved only if the command succeeds. To reuse the name of a job, use '--replace'; the old job stays until the command has succeeded.

            Without '--origin' and without routes in a file, the gateway is a proxy for the command and its child processes. \
            Variables such as https_proxy and SSL_CERT_FILE contain the proxy's address and the certificate authority of this run, so most commands need no setup. \
            HOLDFAST_URL is then not set. If requests to a host could not be recorded, the report names the host and the reason.

            With '--isolated', the command can reach only the gateway, so a program that ignores the proxy fails instead of bypassing it. \
            With '--print-env', no command runs. Instead, the variables are printed for a shell, and SIGINT or SIGTERM ends the recording.

            The origin is '--origin', or the routes in a file. The store is the one that 'holdfast serve' uses with the same options. \
            If a gateway is running on the store, that gateway records, with its own routes and rules, on a separate port. Otherwise, no other process may have the store open. \
            The file's limits on clients do not apply to the command.

            Signals are forwarded to the command. When the command ends, the processes that it left behind are terminated. The exit status is the command's, 1 if the job cannot be recorded, 64 if the command line is invalid. \
            The report goes to standard error.

            JSON: one object on standard error, with the keys name, made, command, requests, wouldRun, until, endedBy, refused, refusedCount, passed, doubtful, cookies, unread and refusedHosts. Times are in milliseconds since 1970 (UTC).

            Examples:
              holdfast record build -- ./build.sh
              holdfast record build --isolated --replace -- ./build.sh
              holdfast record deps --origin https://registry.npmjs.org -- sh -c 'npm ci --registry "$HOLDFAST_URL"'
              holdfast record tests --post --config openai.yaml -- sh -c 'OPENAI_BASE_URL="$HOLDFAST_URL/v1" pytest'
              holdfast record tests --post --replace --config openai.yaml -- make test
            """
    )

    @Argument(help: "Name of the job: up to 64 letters, digits, '-', '_' and '.'.")
    var name: String

    @OptionGroup var options: JobOptions

    @OptionGroup var proxy: ProxyOptions

    @Flag(help: "Record POST requests too. Requests with the same content get the same response.")
    var post = false

    @Option(
        name: .customLong("secret"),
        help: ArgumentHelp(
            "URL parameter that is a credential. It is sent, but not recorded. Repeatable.",
            valueName: "name"
        )
    )
    var secretParameters: [String] = []

    @Option(
        name: .customLong("public"),
        help: ArgumentHelp(
            "URL parameter that is not a secret, although its name suggests it, such as 'state'. Repeatable.",
            valueName: "name"
        )
    )
    var publicParameters: [String] = []

    @Flag(help: "Replace the job with this name if the command succeeds.")
    var replace = false

    @Option(
        name: .customLong("for"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "If a running gateway records: time limit, such as 30m, at most 24h. If it runs out, no job is saved. Default: 1h.",
            valueName: "time"
        )
    )
    var length: String?

    @Option(help: "Format of the report: text or json.")
    var format = Explain.Format.text

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("Command to run, after '--'.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        _ = try JobName(argument: name)
        try proxy.check(command)
        let (names, limit) = (secretParameters + publicParameters, JobFile.Header.maximumNames)
        guard names.count <= limit, names.allSatisfy(JobFile.Header.isParameterName) else {
            throw ValidationError("'--secret' and '--public' accept at most \(limit) parameter names, in ASCII.")
        }
        if let both = secretParameters.first(where: publicParameters.contains) {
            throw ValidationError("'--secret' and '--public' both name '\(both.printable)'. Use one of them.")
        }
        if let length {
            guard let duration = EndTime.duration(length), duration <= RecordingPlan.longest else {
                throw ValidationError(
                    "'--for' must be a number with s, m or h, such as 30m, and at most 24h, not '\(length.printable)'."
                )
            }
        }
    }

    /// The name of the program. Its arguments may contain credentials.
    private var program: String { command.first?.split(separator: "/").last.map(String.init) ?? "shell" }

    func run() async throws {
        let name = try JobName(argument: name)
        let session = await JobSession(try options.settings(for: .recording, proxy), isIsolated: proxy.isIsolated)
        let status: CInt
        if let gateway = try GatewayRecording(store: session.settings.store) {
            guard session.settings.proxy == nil else {
                throw CommandFailure(
                    "A gateway is running on the store '\(session.settings.store)'. A running gateway records only with '--origin' or '--config'. Otherwise, use another '--store'."
                )
            }
            guard !proxy.isIsolated else {
                throw CommandFailure(
                    "A gateway is running on the store '\(session.settings.store)', and '--isolated' needs a gateway in this process. Use another '--store'."
                )
            }
            status = try await record(name, session, in: gateway)
        } else {
            status = try await session.withStore(readOnly: false) { store, logger in
                try await record(name, session, store, logger)
            }
        }
        guard status == 0 else { throw ExitCode(status) }
    }

    // MARK: In a running gateway

    private func record(_ name: JobName, _ session: JobSession, in gateway: GatewayRecording) async throws -> CInt {
        let url = try await gateway.begin(request(name))
        let status: CInt
        do {
            status = try await session.run(command, at: url)
        } catch {
            _ = try? await gateway.end(name, keeps: false)
            throw error
        }
        let ended: RecordingReport
        do {
            ended = try await gateway.end(name, keeps: status == 0)
        } catch let failure as CommandFailure where status != 0 {
            StandardStream.error.line("\(failure)")
            return status
        }
        guard ended.state == .kept else {
            let failure = "the command exited with status \(status)."
            let reason = status == 0 ? ended.error ?? ended.reasonToDiscard : failure
            for line in ended.notes.reasons { StandardStream.error.line("holdfast \(line)") }
            StandardStream.error.line("holdfast did not save the job '\(name)': \(reason)")
            return status == 0 ? 1 : status
        }
        for line in ended.notes.lines { StandardStream.error.line("holdfast \(line)") }
        try await session.withStore(readOnly: true) { try await report(name, session, $0, $1) }
        return status
    }

    private func request(_ name: JobName) -> RecordingRequest {
        var request = RecordingRequest(name.description)
        request.for = length
        request.replace = replace
        request.posts = post
        // If this command is killed, it cannot say that all requests were sent.
        request.discardAtEnd = true
        request.secret = secretParameters
        request.public = publicParameters
        request.command = program
        request.file = options.file.map { URL(fileURLWithPath: $0).path }
        request.origin = options.origin
        return request
    }

    private func report(
        _ name: JobName,
        _ session: JobSession,
        _ store: CacheManager,
        _ logger: Logger
    ) async throws {
        let judge = JobJudge(store: store, file: session.settings.file, logger: logger)
        guard let (header, forecast) = try await judge.forecast(of: name, at: SystemWallClock().now()) else { return }
        StandardStream.error.line(try JobReport(header, forecast).formatted(format))
    }

    // MARK: In this process

    private func record(
        _ name: JobName,
        _ session: JobSession,
        _ store: CacheManager,
        _ logger: Logger
    ) async throws -> CInt {
        guard try replace || !store.jobs.names.contains(name) else {
            throw CommandFailure(
                "The job '\(name)' already exists. Use '--replace' to replace it if the command succeeds."
            )
        }
        if length != nil {
            StandardStream.error.line("holdfast: '--for' has no effect, because no gateway is running on the store")
        }
        let clock = SystemWallClock()
        var random = SystemRandomNumberGenerator()
        let partition = JobPartition(using: &random)
        var header = JobFile.Header(
            name: name,
            made: clock.now(),
            command: program,
            partition: partition,
            keysPosts: post
        )
        header.statesHTTPS = session.settings.gateway.statesHTTPS
        header.secretParameters = Set(secretParameters)
        header.publicParameters = Set(publicParameters)
        var use = header.use
        use.comparesIdentities = true
        let recording = Recorded(publicParameters: use.publicParameters)
        let run = JobRun(partition: partition.description, use)
        let job = JobGateway(.recording, run) { recording.take($0) }
        try await store.endKilledRecordings(at: header.made)
        try await store.beginRecording(name, in: partition, at: header.made)
        let ended: JobSession.Ending
        do {
            ended = try await session.run(command, with: job, from: store, logger)
        } catch {
            try? await store.discardRecording(name, in: partition, at: clock.now())
            throw error
        }
        let recorded = recording.value
        let status = ended.status
        header = recorded.completing(header)
        header.unrecordedHosts = ended.hosts.leavingOutUnusedTunnels(to: recorded.hosts)
        if let reason = Self.reasonToDiscard(recorded, status) {
            try await store.discardRecording(name, in: partition, at: clock.now())
            for line in header.unrecordedHosts.sentences { StandardStream.error.line("holdfast: \(line)") }
            for line in recorded.notes.reasons { StandardStream.error.line("holdfast \(line)") }
            StandardStream.error.line("holdfast did not save the job '\(name)': \(reason)")
            return status == 0 ? 1 : status
        }
        do {
            try await store.keep(header, recorded.entries, at: clock.now())
        } catch {
            guard (try? store.partition(of: name)) == partition else {
                throw CommandFailure("The job '\(name)' was not saved. \(error)")
            }
            throw error
        }
        for line in recorded.notes.lines { StandardStream.error.line("holdfast \(line)") }
        try await report(name, session, store, logger)
        return status
    }

    private static func reasonToDiscard(_ recorded: JobRecording, _ status: CInt) -> String? {
        if recorded.isFull {
            return "it exceeds the limit of \(JobFile.maximumRequests) requests or \(JobFile.maximumLength) bytes."
        }
        return status == 0 ? nil : "the command exited with status \(status)."
    }
}

/// The recording, which several event loops report to.
private final class Recorded: Sendable {
    private let recording: Mutex<JobRecording>

    init(publicParameters: Set<String>) {
        recording = Mutex(JobRecording(publicParameters: publicParameters))
    }

    var value: JobRecording { recording.withLock { $0 } }

    func take(_ exchange: JobExchange) { recording.withLock { $0.take(exchange) } }
}

extension JobName {
    /// - Throws: `ValidationError`
    init(argument text: String) throws {
        guard let name = JobName(text) else {
            throw ValidationError(
                "'\(text.printable)' is not a valid job name. Use up to 64 letters, digits, '-', '_' and '.'."
            )
        }
        self = name
    }
}

extension JobReport {
    func formatted(_ format: Explain.Format) throws -> String {
        switch format {
        case .text: return text
        case .json:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}
