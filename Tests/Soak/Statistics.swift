import Synchronization

/// Counts of a run, and how long exchanges took.
final class Statistics: Sendable {
    struct Counts: Sendable {
        var exchanges = 0
        var hits = 0
        var stale = 0
        var failures = 0
        var ended = 0
        var interim = 0
        /// Exchanges over HTTP/2.
        var http2 = 0
        /// By habit, exchanges.
        var habits: [Part: Int] = [:]
        /// Seconds, of the last exchanges.
        var latencies: [Double] = []
    }

    private let counts = Mutex((total: Counts(), recent: Counts()))

    func record(_ exchange: ObservedExchange) {
        counts.withLock { counts in
            Self.add(exchange, to: &counts.total)
            Self.add(exchange, to: &counts.recent)
        }
    }

    private static func add(_ exchange: ObservedExchange, to counts: inout Counts) {
        counts.exchanges += 1
        if exchange.request.isHTTP2 { counts.http2 += 1 }
        counts.habits[exchange.request.habit, default: 0] += 1
        if counts.latencies.count < 200_000 { counts.latencies.append(exchange.endedAt - exchange.sentAt) }
        guard case .response(let response) = exchange.result else {
            counts.ended += 1
            return
        }
        counts.interim += response.interim.count
        if !response.isOfOrigin { counts.failures += 1 }
        guard let status = response["cache-status"].flatMap({ CacheStatus($0) }), status.isHit else { return }
        counts.hits += 1
        if status.detail != nil { counts.stale += 1 }
    }

    var total: Counts { counts.withLock { $0.total } }

    /// The counts since the last call.
    func takeRecent() -> Counts {
        counts.withLock { counts in
            defer { counts.recent = Counts() }
            return counts.recent
        }
    }
}

extension Statistics.Counts {
    /// Milliseconds that so large a share of the exchanges took at most.
    func latency(_ share: Double) -> Int {
        guard !latencies.isEmpty else { return 0 }
        let sorted = latencies.sorted()
        return Int(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))] * 1_000)
    }
}
