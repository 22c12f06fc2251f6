import Synchronization

/// Records requests: a total, counts per route and per path, and the latest requests themselves.
///
/// The control plane (paths that begin with `/_`) is not counted, so that reading the counts does
/// not change them.
final class RequestLedger: Sendable {
    /// The limits keep a benchmark of a billion requests from filling the memory of the machine
    /// that it measures.
    static let maximumPaths = 10_000
    static let maximumRecorded = 1_000

    struct Statistics: Sendable, Encodable {
        /// The number of issued access tokens.
        var refreshes = 0
        /// The number of all requests.
        var total = 0
        /// The number of requests per method and route pattern, such as `GET /moments/{id}`.
        var routes: [String: Int] = [:]
    }

    private struct Counts {
        var statistics = Statistics()
        var paths: [String: Int] = [:]
        var recorded: [RecordedRequest] = []
    }

    private let counts = Mutex(Counts())

    /// Numbers and records the request, and counts its path.
    func record(_ head: RawRequestHead, path: String) -> RecordedRequest {
        counts.withLock { counts in
            counts.statistics.total += 1
            let request = RecordedRequest(number: counts.statistics.total, path: path, head: head)
            if counts.paths.count < Self.maximumPaths || counts.paths[path] != nil {
                counts.paths[path, default: 0] += 1
            }
            if counts.recorded.count == Self.maximumRecorded {
                counts.recorded.removeFirst(Self.maximumRecorded / 2)
            }
            counts.recorded.append(request)
            return request
        }
    }

    func count(route: String) {
        counts.withLock { $0.statistics.routes[route, default: 0] += 1 }
    }

    func countRefresh() {
        counts.withLock { $0.statistics.refreshes += 1 }
    }

    func count(path: String) -> Int {
        counts.withLock { $0.paths[path] ?? 0 }
    }

    var statistics: Statistics { counts.withLock { $0.statistics } }
    var recorded: [RecordedRequest] { counts.withLock { $0.recorded } }

    func reset() {
        counts.withLock { $0 = Counts() }
    }
}
