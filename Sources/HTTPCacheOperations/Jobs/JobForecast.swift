package import HTTPCache
package import HTTPCacheSemantics

/// Whether a job would run without its origins: whether every one of its requests could be
/// answered, and until when. It takes the requests one by one, and keeps only what it reports.
///
/// It decides nothing itself: it asks the machine that decides in the mode `offline`.
package struct JobForecast: Sendable {
    /// A request that could not be answered.
    package struct Refused: Sendable {
        package var request: JobRequest
        /// The reason: the code of an error, a ``Loss``, or the directive or limit that forbids the
        /// response.
        package var reason: String
        /// The status of the stored error.
        var status: Int?
    }

    /// The reason that a recorded response does not answer.
    package enum Loss: String, Sendable, Hashable, CaseIterable {
        /// It was cut short, evicted or purged, or other rules than in the recording do not find
        /// it.
        case removed
        /// It is an error, such as 404, and no longer fresh.
        case staleError = "stale-error"
        /// Rules key its content in another form than in the recording, or not at all. The job has
        /// only a digest of the content, so it cannot tell the key.
        case contentRules = "content-rules"
    }

    /// The number of refused requests that are kept.
    package static let refusedLimit = 20
    /// The time ahead for which requests are judged, in milliseconds: ten years.
    private static let horizon: Int64 = 315_360_000_000

    /// When the requests are judged.
    package let instant: Timestamp
    package private(set) var requests = 0
    package private(set) var refusedCount = 0
    /// Whether a refused request had a response in the recording.
    package private(set) var losesRecorded = false
    /// The first refused requests.
    package private(set) var refused: [Refused] = []
    /// The first instant at which the job no longer runs, to the second, and the request that ends
    /// it; `nil` if it runs for ten years.
    package private(set) var end: (instant: Timestamp, because: Refused)?

    package init(at instant: Timestamp) { self.instant = instant }

    /// Whether the job would run.
    package var wouldRun: Bool { refusedCount == 0 && requests > 0 }

    /// Takes a request of the job.
    ///
    /// - Parameter subject: the request and the responses that are stored for it.
    package mutating func take(_ entry: JobFile.Entry, _ subject: OfflineForecast.Subject) {
        requests += 1
        if let exclusion = entry.exclusion {
            return refuse(Refused(request: entry.request, reason: exclusion.rawValue))
        }
        if let refusal = subject.offlineRefusal(at: instant) {
            if entry.why == nil { losesRecorded = true }
            return refuse(Self.refused(entry, subject, refusal))
        }
        let limit = end?.instant ?? instant.adding(milliseconds: Self.horizon)
        guard let refusal = subject.offlineRefusal(at: limit.adding(milliseconds: -1000)) else { return }
        end = (
            Self.end(of: subject, after: instant, before: limit),
            Self.refused(entry, subject, refusal)
        )
    }

    private mutating func refuse(_ request: Refused) {
        refusedCount += 1
        if refused.count < Self.refusedLimit { refused.append(request) }
    }

    private static func refused(
        _ entry: JobFile.Entry,
        _ subject: OfflineForecast.Subject,
        _ refusal: ExchangeError
    ) -> Refused {
        let request = entry.request
        guard refusal.code == .offlineMiss else { return Refused(request: request, reason: refusal.reason) }
        if let why = entry.why { return Refused(request: request, reason: why) }
        if subject.hasOtherDigest { return Refused(request: request, reason: Loss.contentRules.rawValue) }
        if let status = subject.storedError {
            return Refused(request: request, reason: Loss.staleError.rawValue, status: status)
        }
        return Refused(request: request, reason: subject.isStored ? refusal.reason : Loss.removed.rawValue)
    }

    /// Returns the first second at which a request that can be answered now cannot.
    private static func end(
        of subject: OfflineForecast.Subject,
        after instant: Timestamp,
        before limit: Timestamp
    ) -> Timestamp {
        var answered: Int64 = 0
        var refused = max(1, limit.milliseconds(since: instant) / 1000)
        while refused - answered > 1 {
            let middle = answered + (refused - answered) / 2
            let isRefused = subject.offlineRefusal(at: instant.adding(milliseconds: middle * 1000)) != nil
            if isRefused { refused = middle } else { answered = middle }
        }
        return instant.adding(milliseconds: refused * 1000)
    }
}

extension ExchangeError {
    /// The reason in a word: the directive or limit that forbids a stored response, or the code.
    package var reason: String { forbiddenBy ?? code.description }
}
