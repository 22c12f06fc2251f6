import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import Holdfast

/// The state of a job, for people and programs. It shows no values of secret parameters.
struct JobReport: Encodable {
    /// A request that would be refused, or that ends the job.
    struct Request: Encodable {
        var method: String
        var url: String
        /// The digest of the request's content, as in the job's file. An API's requests often have
        /// one URL.
        var content: String?
        /// The code of an error, `removed`, `stale-error`, `content-rules`, a directive or a limit.
        var reason: String

        init(_ refused: JobForecast.Refused) {
            method = refused.request.method.rawValue
            url = refused.request.target.redacted
            content = refused.request.content.map { "sha256:\($0.hexadecimal)" }
            reason = refused.reason
            explanation = refused.words
        }

        fileprivate var words: String {
            let shown = content.map { " (content \($0.prefix(Self.contentLength)))" } ?? ""
            return "\(method) \(url)\(shown): \(explanation)"
        }

        private let explanation: String

        private enum CodingKeys: CodingKey { case method, url, content, reason }

        /// The length of a digest in the text: enough to find it in the job's file.
        private static let contentLength = "sha256:".count + 12
    }

    /// A host of requests that are not recorded.
    struct Host: Encodable {
        var host: String
        var reason: String
    }

    var name: String
    /// When it was recorded, in milliseconds since 1970.
    var made: Int64
    var command: String
    var requests: Int
    var wouldRun: Bool
    /// When it no longer runs, in milliseconds since 1970; `nil` if it does not run now, or for ten
    /// years.
    var until: Int64?
    /// The request that ends it.
    var endedBy: Request?
    /// The first requests that would be refused.
    var refused: [Request]
    var refusedCount: Int
    /// The number of unsafe requests that were forwarded but not recorded, by method.
    var passed: [String: Int]
    /// The number of requests that were not recorded, because their URLs may contain secrets.
    var doubtful: Int
    /// The names of cookies that were left out of the responses.
    var cookies: [String]
    /// The hosts to which requests could not be read.
    var unread: [Host]
    /// The hosts to which requests were refused, with the port if that is the reason.
    var refusedHosts: [Host]

    private let sentences: [String]
    /// Asks whether the rules are those of the recording.
    private let question: String?

    private enum CodingKeys: CodingKey {
        case name, made, command, requests, wouldRun, until, endedBy, refused, refusedCount, passed, doubtful, cookies
        case unread, refusedHosts
    }

    /// - Parameter question: asks whether the rules are those of the recording; `nil` if they are.
    init(_ header: JobFile.Header, _ forecast: JobForecast, question: String? = nil) {
        name = header.name.description
        made = header.made.milliseconds
        command = header.command
        requests = forecast.requests
        // A request that was only forwarded would be refused, and is not in the file.
        let wouldRun = forecast.wouldRun && !header.lacksRequests
        self.wouldRun = wouldRun
        if wouldRun, let end = forecast.end {
            until = end.instant.milliseconds
            endedBy = Request(end.because)
        }
        refused = forecast.refused.map { Request($0) }
        refusedCount = forecast.refusedCount
        passed = header.passed
        doubtful = header.doubtful
        cookies = header.cookies.sorted()
        let hosts = header.unrecordedHosts
        unread = hosts.unread.sorted { $0.key < $1.key }.map { Host(host: $0, reason: $1) }
        refusedHosts = hosts.refused.sorted { $0.key < $1.key }.map { Host(host: $0, reason: $1) }
        sentences = hosts.sentences
        self.question = forecast.losesRecorded ? question : nil
    }

    var text: String { ([headline] + details.map { "  " + $0 }).joined(separator: "\n") }

    private var headline: String {
        let count = "\(requests) \(requests == 1 ? "request" : "requests")"
        guard wouldRun else {
            return "\(name): would not run: "
                + (refusedCount > 0 ? "\(refusedCount) of \(count) would be refused" : sentences.first ?? emptiness)
        }
        guard let until else { return "\(name): would run: \(count)" }
        let instant = Date(timeIntervalSince1970: Double(until) / 1000).formatted(.iso8601)
        return "\(name): would run until \(instant): \(count)"
    }

    private var emptiness: String {
        if requests > 0 { return "requests were not recorded" }
        let isUnused = passed.isEmpty && doubtful == 0
        return "it has no requests" + (isUnused ? ", because none was sent to $HOLDFAST_URL or the proxy" : "")
    }

    private var details: [String] {
        var lines = refused.map(\.words)
        if refusedCount > refused.count { lines.append("and \(refusedCount - refused.count) more") }
        // The headline has the first one.
        lines += refusedCount > 0 ? sentences : Array(sentences.dropFirst())
        if let endedBy { lines.append("limited by \(endedBy.words)") }
        for (method, count) in passed.sorted(by: { $0.key < $1.key }) {
            let advice = method == "POST" ? "; '--post' records them" : ""
            lines.append("not recorded: \(count) \(method) \(count == 1 ? "request" : "requests")\(advice)")
        }
        if doubtful > 0 {
            lines.append(
                "not recorded: \(doubtful) \(doubtful == 1 ? "request" : "requests") with parameters that may be secrets"
            )
        }
        if !cookies.isEmpty {
            let names = cookies.map { "'\($0)'" }.joined(separator: ", ")
            lines.append("recorded without cookies: a replay does not set \(names)")
        }
        if let question { lines.append(question) }
        return lines
    }
}
