import ArgumentParser
import CommandLineSupport
import Dispatch
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import Holdfast
import Synchronization

/// `holdfast replay NAME [--origin URL] -- COMMAND`
struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs a command whose requests were recorded, without the network.",
        discussion: """
            Runs the command with a gateway in this process. HOLDFAST_URL contains the gateway's address. The gateway opens no connections to origins, and serves only the responses of the job NAME. \
            It needs no credentials, and ignores those that the command sends.

            Use the '--origin' or '--config' of the recording. If the recording used neither, the gateway is a proxy for the command, as it was in the recording. A replay only reads the store, so a gateway may use it at the same time.

            With '--isolated', the command can reach only the gateway, so a program that ignores the proxy cannot reach the network. \
            With '--print-env', no command runs. Instead, the variables are printed for a shell, and SIGINT or SIGTERM ends the replay.

            A recorded response is served no matter how stale it is, unless 'must-revalidate', 'no-cache' or a rule's limit forbids that. \
            A recorded error, such as 404, is served only while it is fresh. '--as-recorded' serves everything that was recorded.

            Each refused request is reported on standard error, with the reason, the most similar recorded request, and the first difference: a parameter, a field, or the JSON Pointer of a member of the content. \
            For the first \(ReplayedRequests.refusedLimit) refused requests, the member 'nearest' of the response shows the same.

            Signals are forwarded to the command. When the command ends, the processes that it left behind are terminated. The exit status is the command's if the command failed. Otherwise, it is 1 if a request was refused or could not be read, \
            unless '--allow-refused' is set; 1 with '--all' if a request of the job was not sent, or no request was sent; 64 if the command line is invalid; 0 in all other cases.

            Examples:
              holdfast replay build -- ./build.sh
              holdfast replay deps --origin https://registry.npmjs.org -- sh -c 'npm ci --registry "$HOLDFAST_URL"'
              holdfast replay tests --config openai.yaml -- sh -c 'OPENAI_BASE_URL="$HOLDFAST_URL/v1" OPENAI_API_KEY=none pytest'
            """
    )

    @Argument(help: "Name of the job.")
    var name: String

    @OptionGroup var options: JobOptions

    @OptionGroup var proxy: ProxyOptions

    @Flag(
        name: .customLong("as-recorded"),
        help: "Serve every recorded response, regardless of its age and directives."
    )
    var isAsRecorded = false

    @Flag(
        name: .customLong("allow-refused"),
        help: "Exit with status 0 even if requests were refused or could not be read."
    )
    var allowsRefused = false

    @Flag(help: "Exit with status 1 if a request of the job was not sent.")
    var all = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("Command to run, after '--'.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        _ = try JobName(argument: name)
        try proxy.check(command)
    }

    func run() async throws {
        let name = try JobName(argument: name)
        let session = await JobSession(try options.settings(for: .replaying, proxy), isIsolated: proxy.isIsolated)
        let status = try await session.withStore(readOnly: true) { store, logger in
            try await replay(name, session, store, logger)
        }
        guard status == 0 else { throw ExitCode(status) }
    }

    private func replay(
        _ name: JobName,
        _ session: JobSession,
        _ store: CacheManager,
        _ logger: Logger
    ) async throws -> CInt {
        guard let header = try store.jobs.header(of: name) else {
            throw CommandFailure("The store '\(store.folder)' has no job '\(name)'. 'holdfast jobs' lists its jobs.")
        }
        var use = header.use
        use.isAsRecorded = isAsRecorded
        let asked = Replayed()
        let run = JobRun(partition: header.partition.description, use)
        var job = JobGateway(.replaying, run) { asked.take($0) }
        let jobs = store.jobs
        job.nearest = { exchange in
            guard asked.value.refusedCount <= ReplayedRequests.refusedLimit else { return nil }
            return await Self.nearest(to: exchange, in: name, of: jobs)
        }
        let ended = try await session.run(command, with: job, from: store, logger)
        let (status, replayed) = (ended.status, asked.value)
        let unread = ended.hosts.leavingOutUnusedTunnels(to: replayed.hosts)
        for line in unread.sentences { StandardStream.error.line("holdfast: \(line)") }
        let judge = JobJudge(store: store, file: session.settings.file, logger: logger)
        let unasked = try await report(replayed, header, use, judge)
        let isUnused = replayed.isEmpty && unread.isEmpty
        if isUnused { noteUnused(isProxied: session.settings.proxy != nil) }
        if status != 0 { return status }
        if replayed.refusedCount > 0 || !unread.isEmpty, !allowsRefused { return 1 }
        return all && (unasked > 0 || isUnused) ? 1 : 0
    }

    /// Finds the recorded request that differs least from a refused one, not on an event loop.
    private static func nearest(
        to exchange: JobExchange,
        in name: JobName,
        of jobs: JobFolder
    ) async -> NearestRecorded? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var nearest = NearestRequest(to: exchange)
                // The replay has read the whole file before, so it is intact.
                _ = try? jobs.read(name) { if case .entry(let entry) = $0 { nearest.take(entry.request) } }
                continuation.resume(returning: nearest.report)
            }
        }
    }

    /// Reports the refused requests with the nearest recorded ones.
    ///
    /// - Returns: the number of requests of the job that were not sent.
    private func report(
        _ replayed: ReplayedRequests,
        _ header: JobFile.Header,
        _ use: JobRun.Use,
        _ judge: JobJudge
    ) async throws -> Int {
        var refusals = replayed.refused
        var unasked = 0
        if !refusals.isEmpty || all {
            try judge.store.jobs.read(header.name) { line in
                guard case .entry(let entry) = line else { return }
                for index in refusals.indices { refusals[index].take(entry) }
                if !replayed.contains(entry.request) { unasked += 1 }
            }
        }
        let now = SystemWallClock().now()
        let verdicts = try await judge.verdicts(on: refusals.map(\.sameEntry), of: header, use, at: now)
        for (refusal, verdict) in zip(refusals, verdicts) {
            let words = refusal.words(header, judged: verdict, isAsRecorded: isAsRecorded)
            StandardStream.error.line("holdfast refused \(words)")
        }
        let more = replayed.refusedCount - replayed.refused.count
        if more > 0 { StandardStream.error.line("holdfast refused \(more) more \(more == 1 ? "request" : "requests")") }
        if refusals.contains(where: { $0.mayNeedRules(header) }) {
            let origin = refusals.lazy.compactMap(\.recordedOrigin).first
            StandardStream.error.line("holdfast: \(options.nextStep(recordedOrigin: origin))")
        }
        if all, unasked > 0 {
            let words = unasked == 1 ? "request of the job was" : "requests of the job were"
            StandardStream.error.line("holdfast: \(unasked) \(words) not sent")
        }
        return unasked
    }

    /// - Parameter isProxied: whether the gateway is the command's proxy.
    private func noteUnused(isProxied: Bool) {
        let (place, advice) =
            isProxied
            ? ("the proxy", "Check that the command uses the proxy's variables")
            : ("$HOLDFAST_URL", "Use it as the command's base URL")
        let option = all ? "" : ", and '--all' makes this an error"
        StandardStream.error.line(
            "holdfast: no request was sent to \(place), so nothing was replayed. \(advice); "
                + "'--isolated' cuts the command off from the network\(option)."
        )
    }
}

/// The requests of a replay.
struct ReplayedRequests: Sendable {
    /// A request without the fields that select its response.
    private struct Subject: Hashable {
        let method: HTTPRequest.Method
        let target: TargetURI
        let content: [UInt8]?

        init(_ request: JobRequest) {
            (method, target, content) = (request.method, request.target, request.content)
        }
    }

    /// The number of refused requests that are reported in detail.
    static let refusedLimit = 20

    private(set) var refused: [ReplayRefusal] = []
    /// The number of refused requests. A request that was sent several times counts once.
    private(set) var refusedCount = 0
    private var answered: Set<Subject> = []
    private var refusedSubjects: Set<Subject> = []

    mutating func take(_ exchange: JobExchange) {
        guard case .failed(let code, let message) = exchange.ending else {
            if answered.count < JobFile.maximumRequests { answered.insert(Subject(exchange.request)) }
            return
        }
        // A client that repeats a request learns nothing new.
        guard refusedSubjects.count < JobFile.maximumRequests,
            refusedSubjects.insert(Subject(exchange.request)).inserted
        else { return }
        refusedCount += 1
        guard refused.count < Self.refusedLimit else { return }
        refused.append(ReplayRefusal(exchange, code: code, message: message))
    }

    /// Whether there was no request.
    var isEmpty: Bool { answered.isEmpty && refusedCount == 0 }

    /// The hosts of the requests, as URLs name them.
    var hosts: Set<String> { Set(answered.union(refusedSubjects).map(\.target.host)) }

    /// Returns whether a request was answered.
    func contains(_ request: JobRequest) -> Bool { answered.contains(Subject(request)) }
}

/// The replay, which several event loops report to.
private final class Replayed: Sendable {
    private let requests = Mutex(ReplayedRequests())

    var value: ReplayedRequests { requests.withLock { $0 } }

    func take(_ exchange: JobExchange) { requests.withLock { $0.take(exchange) } }
}
