import HTTPTypes
import HoldfastConfiguration
import Logging
import NIOCore
import Synchronization

/// Rejects the requests of clients that send more than a rate allows. All event loops share its
/// buckets.
final class RateCheck: RequestCheck {
    /// The requests that a rate counts.
    struct Subject: Hashable {
        let rate: HoldfastConfiguration.Configuration.RequestRate
        /// The route; `nil` if all requests count.
        var route: Route?

        struct Route: Hashable {
            let name: String?
            let host: String?
            let path: String
        }
    }

    let subject: Subject
    private let logger: Logger
    private let policy: HTTPField
    private let buckets: Mutex<RateBuckets>

    init(_ subject: Subject, logger: Logger) {
        self.subject = subject
        self.logger = logger
        let seconds = RateBuckets.Rate(subject.rate).whole.wholeSeconds
        policy = HTTPField(name: .rateLimitPolicy, value: "\(subject.name);q=\(subject.rate.burst);w=\(seconds)")
        buckets = Mutex(RateBuckets(subject.rate))
    }

    /// The number of clients with a bucket of their own.
    var clientCount: Int { buckets.withLock { $0.count } }

    func requests(of client: ClientAddress) -> ClientCheck? {
        let group = RateGroup(client.text, by: subject.rate.grouping)
        let place = BucketPlace()
        return { [self] now in
            let known = place.index.load(ordering: .relaxed)
            let decision = buckets.withLock { $0.take(group, at: now, lastAt: known) }
            if let index = decision.place, index != known { place.index.store(index, ordering: .relaxed) }
            if let change = decision.change { log(change) }
            return decision.wait.map { problem(seconds: $0.wholeSeconds) }
        }
    }

    func forecast(for client: ClientAddress, at now: NIODeadline) -> CheckForecast? {
        let group = RateGroup(client.text, by: subject.rate.grouping)
        return buckets.withLock { $0.wait(of: group, at: now) }.map {
            CheckForecast(setting: "limits.requests", problem: problem(seconds: $0.wholeSeconds))
        }
    }

    /// draft-ietf-httpapi-ratelimit-headers-10, §3 and §4
    private func problem(seconds: UInt64) -> Problem {
        var problem = Problem(
            .tooManyRequests,
            title: "Too many requests",
            status: 429,
            detail: "Your address has sent more requests than are allowed\(subject.place). Try again in \(seconds) s.",
            retryAfter: Int(clamping: seconds)
        )
        problem.fields.append(policy)
        problem.fields.append(HTTPField(name: .rateLimit, value: "\(subject.name);r=0;t=\(seconds)"))
        return problem
    }

    /// Logs a change of the whole table, and no client's address: anyone can cause these changes.
    private func log(_ change: RateBuckets.Change) {
        var metadata: Logger.Metadata = ["setting": "limits.requests"]
        if let route = subject.route {
            if let name = route.name { metadata["route.name"] = "\(name)" }
            metadata["route.host"] = "\(route.host ?? "any")"
            metadata["route.path"] = "\(route.path)"
        }
        switch change {
        case .limiting: logger.warning("Rejecting requests of clients that exceed their rate", metadata: metadata)
        case .sharing: logger.warning("Too many clients have a rate, so new ones share one", metadata: metadata)
        }
    }
}

/// Where the bucket of a connection's client was last.
private final class BucketPlace: Sendable {
    let index = Atomic(-1)
}

extension RateCheck.Subject {
    /// The name of the quota in the fields, as a string of structured fields.
    fileprivate var name: String { route == nil ? "\"requests\"" : "\"route\"" }

    /// The requests that count, for a sentence. Clients do not learn routes.
    fileprivate var place: String { route == nil ? "" : " for this path" }
}

extension UInt64 {
    /// A time in nanoseconds as seconds, rounded up; at least 1.
    fileprivate var wholeSeconds: UInt64 { self <= 1_000_000_000 ? 1 : (self - 1) / 1_000_000_000 + 1 }
}
