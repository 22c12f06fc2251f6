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
            Runs the command with a gateway in this process, whose address is in HOLDFAST_URL. The requests that the command sends there become the job NAME: \
            a set of requests that is worth something only if all of them are answered. 'holdfast replay' runs the command again without the network, and 'holdfast jobs' says whether it would run.

            The responses are in the store, in a partition of the job that no gateway serves. Only GET is recorded, and answers HEAD too; with '--post', also POST, by its content. \
            Other requests are passed on, and counted.

            No credential is recorded: 'Authorization', cookies, API keys in fields, and parameters such as 'api_key' are sent to the origin, and kept nowhere. A request whose URL has another parameter with the name of a secret, such as 'state', is passed on and not recorded, \
            unless '--public' or '--secret' says which it is. A job has one identity at each origin. \
            A request with other credentials than the first one there is passed on, not recorded, and named.

            A job is kept only if the command succeeds. A name that exists needs '--replace'; until the command has succeeded, the old job stays.

            Without '--origin' and without routes in a file, the gateway is a proxy for the command and its children instead. \
            Variables such as https_proxy and SSL_CERT_FILE name it, and the certificate authority of this run, so most commands need no configuration. \
            HOLDFAST_URL is not set then. Hosts that could not be recorded are reported with the reason.

            With '--isolated', the command reaches nothing but the gateway, so a program that ignores the proxy fails instead of going around it. \
            With '--print-env', no command runs: the variables are printed for a shell, and SIGINT or SIGTERM ends the recording.

            The origin is that of '--origin', or the routes in a file. The store is the one that 'holdfast serve' uses with the same options. \
            If a gateway is running on it, the gateway records, with its own routes and rules, at an address of its own; otherwise no other process may have the store open. \
            Limits on clients in the file do not apply to the command.

            Signals are passed on to the command, and processes that it leaves behind are ended. The exit status is that of the command; 1 if the job cannot be recorded; 64 if the command line is invalid. \
            What was recorded is reported on standard error.

            JSON: one object on standard error, with the keys name, made, command, requests, wouldRun, until, endedBy, refused, refusedCount, passed, doubtful, cookies, unread and refusedHosts. Instants are in milliseconds since 1970 (UTC).

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
            "Parameter of URLs that is a credential. It is sent, and is not part of the recorded request. Repeatable.",
            valueName: "name"
        )
    )
    var secretParameters: [String] = []

    @Option(
        name: .customLong("public"),
        help: ArgumentHelp(
            "Parameter of URLs that is no secret, although its name looks like one, such as 'state'. Repeatable.",
            valueName: "name"
        )
    )
    var publicParameters: [String] = []

    @Flag(help: "Replace the job with this name, if the command succeeds.")
    var replace = false

    @Option(
        name: .customLong("for"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "In a running gateway: the time after which the recording ends without a job, such as 30m. Default: 1h, at most 24h.",
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
            throw ValidationError("'--secret' and '--public' take at most \(limit) names of parameters, in ASCII.")
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
                    "A gateway is running on the store '\(session.settings.store)'. Only '--origin' and '--config' record in a running gateway; use another '--store'."
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
            let failure = "the command ended with exit status \(status)."
            let reason = status == 0 ? ended.error ?? ended.reasonToDiscard : failure
            for line in ended.notes.reasons { StandardStream.error.line("holdfast \(line)") }
            StandardStream.error.line("holdfast did not keep the job '\(name)': \(reason)")
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
            throw CommandFailure("The job '\(name)' exists. '--replace' replaces it if the command succeeds.")
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
            StandardStream.error.line("holdfast did not keep the job '\(name)': \(reason)")
            return status == 0 ? 1 : status
        }
        do {
            try await store.keep(header, recorded.entries, at: clock.now())
        } catch {
            guard (try? store.partition(of: name)) == partition else {
                throw CommandFailure("The job '\(name)' was not kept. \(error)")
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
        return status == 0 ? nil : "the command ended with exit status \(status)."
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
                "'\(text.printable)' is not a name of a job. Use up to 64 letters, digits, '-', '_' and '.'."
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
