import HoldfastConfiguration
import NIOCore

/// The token buckets of a rate's clients, in a table of limited size. It reads no clock: the caller
/// passes the time.
///
/// A bucket is the time when it is full again. A full bucket says nothing about its client, so its
/// place can be reused. No other bucket is given up: a client cannot get a new bucket by filling
/// the table from other addresses. While the table is full, all further clients share one bucket.
struct RateBuckets {
    /// The maximum number of clients with a bucket of their own: 65,536.
    static let limit = 1 << 16
    /// The maximum number of buckets that are examined to make room for one client.
    private static let searchLimit = 8

    private struct Bucket {
        var group: RateGroup
        var fullAt: UInt64
    }

    private let rate: Rate
    private let limit: Int
    private var buckets: [Bucket] = []
    private var places: [RateGroup: Int] = [:]
    private var shared: UInt64 = 0
    /// The bucket that was examined last.
    private var hand = 0
    /// The latest time that was passed. Event loops read the clock at different times.
    private var latest: UInt64 = 0
    private var limiting = Episode()
    private var sharing = Episode()

    /// - Parameter limit: the maximum number of clients with a bucket of their own.
    init(_ rate: HoldfastConfiguration.Configuration.RequestRate, limit: Int = Self.limit) {
        self.rate = Rate(rate)
        self.limit = limit
    }

    /// The number of clients with a bucket of their own. Some of them may be full.
    var count: Int { buckets.count }

    /// The decision about a request.
    struct Decision: Equatable {
        /// The nanoseconds until the client has a token again; `nil` if the request passes.
        var wait: UInt64?
        /// A change to log.
        var change: Change?
        /// The place of the client's bucket; `nil` if the client shares one.
        var place: Int?
    }

    /// A change that concerns operators. It is reported again after a minute without it.
    enum Change: Equatable {
        /// Requests are rejected.
        case limiting
        /// The table is full, so clients share a bucket.
        case sharing
    }

    /// Takes a token of a client, if it has one.
    ///
    /// - Parameter place: where the client's bucket was last. It saves a search of the table,
    ///   unless another client's bucket is there now.
    mutating func take(_ group: RateGroup, at now: NIODeadline, lastAt place: Int = -1) -> Decision {
        latest = max(latest, now.uptimeNanoseconds)
        let (rate, time) = (self.rate, latest)
        var decision = Decision()
        let isThere = buckets.indices.contains(place) && buckets[place].group == group
        if let place = isThere ? place : places[group] ?? makeBucket(for: group) {
            decision.place = place
            decision.wait = rate.take(&buckets[place].fullAt, at: time)
        } else {
            decision.wait = rate.take(&shared, at: time)
            if sharing.begins(at: time) { decision.change = .sharing }
        }
        if decision.wait != nil, limiting.begins(at: time), decision.change == nil { decision.change = .limiting }
        return decision
    }

    /// Returns the nanoseconds until a client has a token, without taking one; `nil` if it has one.
    func wait(of group: RateGroup, at now: NIODeadline) -> UInt64? {
        let time = max(latest, now.uptimeNanoseconds)
        var fullAt: UInt64 = 0
        if let place = places[group] {
            fullAt = buckets[place].fullAt
        } else if buckets.count >= limit, search(at: time).full == nil {
            fullAt = shared
        }
        return rate.take(&fullAt, at: time)
    }

    /// Returns the place of a full bucket for a new client; `nil` if none is free.
    private mutating func makeBucket(for group: RateGroup) -> Int? {
        let bucket = Bucket(group: group, fullAt: 0)
        let (full, last) = search(at: latest)
        hand = last
        if let place = full {
            places[buckets[place].group] = nil
            buckets[place] = bucket
            places[group] = place
            return place
        }
        guard buckets.count < limit else { return nil }
        places[group] = buckets.count
        buckets.append(bucket)
        return buckets.count - 1
    }

    /// Examines the next few buckets. Returns the place of a full one, if there is one, and the
    /// place that was examined last.
    private func search(at time: UInt64) -> (full: Int?, last: Int) {
        var place = hand
        for _ in 0..<min(Self.searchLimit, buckets.count) {
            place = place + 1 < buckets.count ? place + 1 : 0
            if buckets[place].fullAt <= time { return (place, place) }
        }
        return (nil, place)
    }
}

extension RateBuckets {
    /// A rate in nanoseconds.
    struct Rate {
        /// The time in which a bucket gets one token.
        let interval: UInt64
        /// The time in which an empty bucket becomes full.
        let whole: UInt64

        init(_ rate: HoldfastConfiguration.Configuration.RequestRate) {
            // A rate has at least one request. The product is below 2⁶³: a million times an hour.
            interval = UInt64(clamping: rate.period.seconds) * 1_000_000_000 / max(1, UInt64(clamping: rate.count))
            whole = interval * UInt64(clamping: rate.burst)
        }

        /// Takes a token, if the bucket has one.
        ///
        /// - Parameter fullAt: the time when the bucket is full.
        /// - Returns: the nanoseconds until the bucket has a token; `nil` if a token was taken.
        func take(_ fullAt: inout UInt64, at now: UInt64) -> UInt64? {
            let next = max(fullAt, now) + interval
            if next - now > whole { return next - now - whole }
            fullAt = next
            return nil
        }
    }

    /// Events that count as one until a minute passes without any.
    private struct Episode {
        private static let pause: UInt64 = 60_000_000_000
        private var last: UInt64?

        mutating func begins(at now: UInt64) -> Bool {
            defer { last = now }
            return last.map { now - $0 >= Self.pause } ?? true
        }
    }
}
