package import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// Why a replay refused a request, and the next step, in sentences. It takes the requests of the
/// job one by one.
package struct ReplayRefusal: Sendable {
    private let asked: JobRequest
    private let code: String
    private let message: String
    private var nearest: NearestRequest
    private var entry: JobFile.Entry?
    /// Whether a request of the job has the same method.
    private var hasMethod = false

    /// - Parameters:
    ///   - exchange: the refused request.
    ///   - code: the code of the error with which it ended.
    ///   - message: the error's message.
    package init(_ exchange: JobExchange, code: String, message: String) {
        asked = exchange.request
        (self.code, self.message) = (code, message)
        nearest = NearestRequest(to: exchange)
    }

    /// Takes a request of the job.
    package mutating func take(_ entry: JobFile.Entry) {
        let recorded = entry.request
        guard recorded.method == asked.method else { return }
        hasMethod = true
        guard recorded.target.path == asked.target.path else { return }
        let before = nearest.nearest
        nearest.take(recorded)
        if nearest.nearest != before { self.entry = entry }
    }

    /// The request's entry in the job; `nil` if every entry differs from it.
    package var sameEntry: JobFile.Entry? { nearest.difference == nil ? entry : nil }

    /// The origin of the same request in the job, if only the origin differs.
    package var recordedOrigin: String? { nearest.differingOrigin }

    /// Whether the rules of a file may be the reason: the request may have had a response in the
    /// recording.
    package func mayNeedRules(_ header: JobFile.Header) -> Bool {
        faultOfMethod(header) == nil && sameEntry?.why == nil
    }

    /// The request, the reason and the next step.
    ///
    /// - Parameters:
    ///   - judged: the verdict on ``sameEntry``.
    ///   - isAsRecorded: whether the replay serves every recorded response.
    package func words(
        _ header: JobFile.Header,
        judged: JobForecast.Refused? = nil,
        isAsRecorded: Bool = false
    ) -> String {
        let reason = faultOfMethod(header) ?? (sameEntry == nil ? difference : verdict(judged, isAsRecorded))
        return "\(asked.method) \(asked.target.redacted): \(reason)"
    }

    private var isMissing: Bool { code == ExchangeError.Code.offlineMiss.description }

    /// Why requests with this method are in no job, or not in this one.
    private func faultOfMethod(_ header: JobFile.Header) -> String? {
        switch asked.method {
        case .get, .head: nil
        case _ where hasMethod: nil
        case .post where header.keysPosts: nil
        case .post: "POST is not recorded without '--post'. Record the job again with it."
        default: "\(asked.method) is never recorded."
        }
    }

    private func verdict(_ judged: JobForecast.Refused?, _ isAsRecorded: Bool) -> String {
        if isMissing, let judged {
            let subject = entry?.why == nil ? "It is recorded" : "It was sent in the recording"
            return "\(subject), but \(judged.clause)."
        }
        // A replay has no mode that an operator could switch.
        if isMissing { return "It is recorded, but no usable response is stored." }
        return isAsRecorded ? message : "\(message) '--as-recorded' serves it."
    }

    private var difference: String {
        let missing = "No response is recorded for it."
        let advice = recordedOrigin == nil ? " To add it, record the job again." : ""
        let fault = isMissing ? missing + advice : message
        guard let recorded = nearest.nearest, let difference = nearest.difference else {
            return "\(fault) No request with this method and path was recorded."
        }
        let text =
            "\(fault) Nearest recorded request: \(recorded.method) \(recorded.target.redacted): \(difference)."
        guard case .parameter(let name, .some, .some) = difference else { return text }
        return text
            + " If '\(name)' changes with each run, record it with a rule with 'ignore: {parameters: [\(name)]}', or with '--secret \(name)' if it is a credential."
    }
}
