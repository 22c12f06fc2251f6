package import HTTPCacheOperations
import HTTPCacheSemantics

/// The recordings of a gateway, as returned by the control plane.
package struct RecordingsReport: Sendable, Hashable, Codable {
    /// The recordings that run, by name, followed by the ended ones, newest first.
    package var recordings: [RecordingReport]

    /// Creates the report.
    package init(_ states: [RecordingState]) { recordings = states.map { RecordingReport($0) } }
}

/// A recording that runs, or what became of one. It shows no URLs of requests.
package struct RecordingReport: Sendable, Hashable, Codable {
    /// The job's name.
    package var name: String
    /// `recording`, `kept` or `discarded`.
    package var state: State
    /// The address to which the requests are sent; `nil` if the recording has ended.
    package var url: String?
    /// When the recording began, as RFC 3339 text; `nil` if an earlier process began it.
    package var since: String?
    /// When the recording ends by itself.
    package var until: String?
    /// When the recording ended.
    package var ended: String?
    /// Why the recording ended: `client`, `time`, `requests`, `bytes`, `shut-down`, `killed` or
    /// `failure`.
    package var endedBy: String?
    /// The failure.
    package var error: String?
    /// The number of recorded requests.
    package var requests: Int
    /// The length of the job's file, in bytes.
    package var bytes: Int
    /// The limit of ``requests``.
    package var mostRequests: Int?
    /// The limit of ``bytes``.
    package var mostBytes: Int?
    /// The number of unsafe requests that were passed on and not recorded, by method.
    package var passed: [String: Int]
    /// The number of requests with other credentials than the first ones, by origin.
    package var otherCredentials: [String: Int]
    /// The number of requests that were not recorded, because their URLs may contain secrets.
    package var doubtful: Int
    /// The names of the parameters that may be secrets.
    package var doubtfulNames: [String]
    /// The names of cookies that clients got, and that are left out of the recorded responses.
    package var cookies: [String]
    /// Why the first request failed, by the origin of requests that got no response; `nil` if there
    /// are none.
    package var failures: [String: String]?
    /// The reason that the client stated.
    package var reason: String?
    /// The client that began the recording.
    package var by: String?

    /// The state of a recording.
    package enum State: String, Sendable, Hashable, Codable {
        /// The recording runs.
        case recording
        /// The job is in force.
        case kept
        /// There is no job, or an older one with the same name.
        case discarded
    }

    /// Creates the report of a recording.
    package init(_ recording: RecordingState) {
        let (count, plan) = (recording.count, recording.plan)
        name = recording.name.description
        switch recording.end?.isKept {
        case nil: state = .recording
        case true?: state = .kept
        case false?: state = .discarded
        }
        url = recording.end == nil ? recording.url : nil
        since = plan.map { EndTime.text($0.since) }
        until = plan.map { EndTime.text($0.until) }
        ended = recording.end.map { EndTime.text($0.at) }
        endedBy = recording.end?.ending.word
        if case .failure(let failure) = recording.end?.ending { error = failure }
        requests = count.requests
        bytes = count.bytes
        mostRequests = plan?.limits.requests
        mostBytes = plan?.limits.length
        passed = count.passed
        otherCredentials = count.otherIdentities
        doubtful = count.doubtful
        doubtfulNames = count.doubtfulNames.sorted()
        cookies = count.cookies.sorted()
        failures = count.failures.isEmpty ? nil : count.failures
        reason = plan?.reason
        by = plan?.client
    }
}
