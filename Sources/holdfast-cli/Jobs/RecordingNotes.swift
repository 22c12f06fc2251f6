import HTTPCacheOperations
import HoldfastControl

/// The requests that a recording only forwarded, and those that failed, in sentences.
struct RecordingNotes {
    /// The number of requests with other credentials than the first ones, by origin.
    let otherIdentities: [String: Int]
    /// The number of requests whose URLs may contain secrets, and the names of the parameters.
    let doubtful: (count: Int, names: [String])
    /// Why the first request failed, by origin.
    let failures: [String: String]

    /// The failures. A command may hide the responses that state them.
    var reasons: [String] {
        failures.sorted { $0.key < $1.key }.map { "got no response from '\($0)': \($1)" }
    }

    var lines: [String] {
        var lines = reasons
        lines += otherIdentities.sorted { $0.key < $1.key }.map { origin, count in
            "\(Self.forwarded(count)) with other credentials at '\(origin)': a job has one identity at each origin"
        }
        if doubtful.count > 0 {
            let names = doubtful.names.map { "'\($0)'" }.joined(separator: ", ")
            lines.append(
                "\(Self.forwarded(doubtful.count)) whose URLs may contain secrets (\(names)): "
                    + "use '--public NAME' for a parameter that is not a secret, or '--secret NAME' for a credential"
            )
        }
        return lines
    }

    private static func forwarded(_ count: Int) -> String {
        "forwarded, but did not record, \(count) \(count == 1 ? "request" : "requests")"
    }
}

extension JobRecording {
    var notes: RecordingNotes {
        RecordingNotes(
            otherIdentities: otherIdentities,
            doubtful: (doubtfulCount, doubtfulNames.sorted()),
            failures: failures
        )
    }
}

extension RecordingReport {
    var notes: RecordingNotes {
        RecordingNotes(
            otherIdentities: otherCredentials,
            doubtful: (doubtful, doubtfulNames),
            failures: failures ?? [:]
        )
    }

    /// Why there is no job, if it did not fail.
    var reasonToDiscard: String {
        switch endedBy {
        case "requests": "it exceeds the limit of \(mostRequests ?? 0) requests."
        case "bytes": "it exceeds the limit of \(mostBytes ?? 0) bytes."
        default: "the recording was stopped ('\(endedBy ?? "")')."
        }
    }
}
