/// Estimates how many bytes a plain LRU cache of the same budget would miss, without keeping one.
///
/// Time is a number of requests. An LRU cache contains what was requested in the last T requests,
/// for the T in which distinct entries add up to its budget. A request adds to these bytes unless
/// the entry was requested within T, so T and the misses follow from the times between two requests
/// of an entry. These times are counted in a histogram, weighted by bytes. An entry that is neither
/// in the cache nor remembered counts as never requested.
///
/// Denning, "The working set model for program behavior", 1968; Che et al., "Hierarchical Web
/// caching systems", 2002
struct ReuseTimes: Sendable {
    /// The time after which an estimate is made, and older requests count less.
    static let period: UInt32 = 2048
    private static let kept = 0.7
    /// Four for each power of two of a `UInt32`.
    private static let bucketCount = 124

    /// The present time.
    private(set) var now: UInt32 = 1
    private var periodStart: UInt32 = 0
    private var histogram = [Double](repeating: 0, count: bucketCount)
    /// The time in which the other numbers were counted.
    private var elapsed = 0.0
    private var bytes = 0.0
    private var missedBytes = 0.0

    /// Records a request, which takes a unit of time.
    ///
    /// - Parameter last: the time of the entry's last request, if it is known.
    mutating func add(size: Int, since last: UInt32?, isMiss: Bool) {
        add(bytes: Double(size), after: last.map { now &- $0 }, isMiss: isMiss)
        advance(by: 1)
    }

    /// Records a request.
    ///
    /// - Parameter time: the time since the entry's last request, if it is known.
    mutating func add(bytes: Double, after time: UInt32?, isMiss: Bool) {
        if let time { histogram[Self.bucket(time)] += bytes }
        self.bytes += bytes
        if isMiss { missedBytes += bytes }
    }

    mutating func advance(by time: UInt32) {
        now &+= time
        elapsed += Double(time)
    }

    /// At the end of a period, returns how many bytes fewer than LRU were missed, as a share of the
    /// bytes requested.
    mutating func leadOverLRU(budget: Int) -> Double? {
        guard now &- periodStart >= Self.period, bytes > 0 else { return nil }
        periodStart = now
        let lead = (bytesMissedByLRU(budget: Double(budget)) - missedBytes) / bytes
        for index in histogram.indices { histogram[index] *= Self.kept }
        elapsed *= Self.kept
        bytes *= Self.kept
        missedBytes *= Self.kept
        return lead
    }

    private func bytesMissedByLRU(budget: Double) -> Double {
        // Step through T. The requests that are repeated later than T are those that add bytes.
        var distinct = 0.0
        var later = bytes
        for index in histogram.indices {
            let duration = Self.start(index + 1) - Self.start(index)
            let added = duration * (later - histogram[index] / 2) / elapsed
            if distinct + added >= budget { return later - histogram[index] * (budget - distinct) / added }
            distinct += added
            later -= histogram[index]
        }
        return later
    }

    private static func bucket(_ time: UInt32) -> Int {
        guard time >= 4 else { return Int(time) }
        let exponent = 31 - time.leadingZeroBitCount
        return 4 * (exponent - 1) + Int((time >> UInt32(exponent - 2)) & 3)
    }

    /// The first time of a bucket.
    private static func start(_ bucket: Int) -> Double {
        bucket < 4 ? Double(bucket) : Double((4 + (bucket & 3)) << (bucket / 4 - 1))
    }
}
