import CacheEviction

/// Measures what a cost of misses does: in an outage, a miss is a failed request.
///
/// The origin is unreachable for 1,000 of each 20,000 requests. An object that is requested in an
/// outage has the cost from then on, as long as it is in the cache. Objects that are missing in an
/// outage cannot be stored. Optionally, half of the requests of an outage are those of the outage
/// before: the same people ask for the same things.
struct OutageReplay {
    static let period = 20_000
    static let length = 1_000

    /// The share of requests in outages that failed.
    var failed: Double
    /// The share of the other requests that missed.
    var missed: Double

    init(_ trace: Trace, budget: Int, cost: MissCost, repeats: Bool) {
        var random = SeededRandom(seed: 1)
        var (asked, askedBefore): ([Trace.Request], [Trace.Request]) = ([], [])
        var policy = EvictionPolicy(budget: budget)
        var victims: [EvictionPolicy.Slot] = []
        var (inOutage, failures, outside, misses) = (0, 0, 0, 0)
        for (index, next) in trace.requests.enumerated() {
            var request = next
            let isOutage = index % Self.period >= Self.period - Self.length
            if isOutage {
                inOutage += 1
                if repeats, !askedBefore.isEmpty, random.happens(0.5) {
                    request = askedBefore[random.below(askedBefore.count)]
                }
                asked.append(request)
            } else {
                outside += 1
                if !asked.isEmpty { (askedBefore, asked) = (asked, []) }
            }
            if let slot = policy.slot(of: request.key) {
                policy.use(slot)
                if isOutage { policy.setCost(slot, cost) }
            } else if isOutage {
                failures += 1
            } else {
                misses += 1
                victims.removeAll(keepingCapacity: true)
                _ = policy.insert(request.key, size: request.size, victims: &victims)
            }
        }
        failed = Double(failures) / Double(max(1, inOutage))
        missed = Double(misses) / Double(max(1, outside))
    }
}
