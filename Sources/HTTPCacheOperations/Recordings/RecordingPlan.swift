package import HTTPCacheSemantics

/// A recording that a client of a running gateway asks for.
package struct RecordingPlan: Sendable, Hashable {
    /// The maximum number of recordings that run at the same time.
    package static let limit = 4
    /// The maximum time that a recording lasts.
    package static let longest = Duration.seconds(24 * 3600)
    /// The time that a recording lasts, unless the client states another one.
    package static let usual = Duration.seconds(3600)

    package var name: JobName
    /// The name of the program whose requests are recorded; empty if the client states none.
    package var command = ""
    /// Whether a job with the same name is replaced.
    package var replaces = false
    /// See ``JobRun/Use/keysPosts``.
    package var keysPosts = false
    /// See ``JobRun/Use/secretParameters``.
    package var secretParameters: Set<String> = []
    /// See ``JobRun/Use/publicParameters``.
    package var publicParameters: Set<String> = []
    package var limits = JobRecording.Limits()
    package var since: Timestamp
    package var until: Timestamp
    /// Whether the job is kept if the recording's time is over. A client that ends the recording
    /// itself when all requests were sent sets `false`.
    package var keepsAtEnd = true
    /// A note for the log and for other operators.
    package var reason: String?
    /// The client that began the recording.
    package var client: String

    package init(_ name: JobName, since: Timestamp, until: Timestamp, client: String) {
        self.name = name
        self.since = since
        self.until = until
        self.client = client
    }

    /// Returns the first line of the job's file.
    func header(_ partition: JobPartition) -> JobFile.Header {
        var header = JobFile.Header(
            name: name,
            made: since,
            command: command,
            partition: partition,
            keysPosts: keysPosts
        )
        header.secretParameters = secretParameters
        header.publicParameters = publicParameters
        return header
    }
}

/// The reason that a recording ended.
package enum RecordingEnding: Sendable, Hashable {
    /// A client ended it, and says whether the job is worth keeping.
    case client(keeps: Bool)
    /// Its time was over.
    case time
    /// It exceeded a limit, so the job would lack requests.
    case limit(JobRecording.Limit)
    /// The gateway ended.
    case shutDown
    /// The process was killed. A later process found what was left.
    case killed
    /// A failure, in words.
    case failure(String)

    /// Returns whether the job is kept.
    package func keepsJob(of plan: RecordingPlan) -> Bool {
        switch self {
        case .client(let keeps): keeps
        case .time: plan.keepsAtEnd
        case .limit, .shutDown, .killed, .failure: false
        }
    }

    /// The reason in a word.
    package var word: String {
        switch self {
        case .client: "client"
        case .time: "time"
        case .limit(let limit): limit.rawValue
        case .shutDown: "shut-down"
        case .killed: "killed"
        case .failure: "failure"
        }
    }
}
