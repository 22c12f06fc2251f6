import HTTPCacheSemantics

/// The totals of the last hour and the last day. They use a fixed amount of memory, about 260 KB.
struct TrafficHistory: Sendable {
    /// A period of the history, divided into steps.
    enum Window: String, CaseIterable, Sendable {
        case hour, day

        var step: Int64 { self == .hour ? 10_000 : 300_000 }
        /// The number of steps.
        var count: Int { self == .hour ? 360 : 288 }
    }

    /// The totals at a point in time.
    struct Point: Sendable, Hashable {
        var at: Timestamp
        var totals: TrafficTotals
        /// The store's size in bytes when it was last measured.
        var storeBytes: Int64?
    }

    /// The approximate size of all points, in bytes.
    static let bytes = Window.allCases.reduce(0) {
        $0 + ($1.count + 1) * (MemoryLayout<Point>.stride + TrafficTotals.bytes)
    }

    private var points: [Window: [Point]] = [.hour: [], .day: []]

    /// The oldest point of the last hour.
    var first: Point? { points[.hour]?.first }

    /// Adds a point. Call this function about once per step of the hour window.
    mutating func record(_ point: Point) {
        for window in Window.allCases {
            guard var kept = points.removeValue(forKey: window) else { continue }
            // If the clock was set back, the recorded times are in the future.
            kept.removeAll { $0.at > point.at }
            let isDue = kept.last.map { point.at.milliseconds(since: $0.at) >= window.step - 500 } ?? true
            if isDue {
                if kept.count > window.count { kept.removeFirst() }
                kept.append(point)
            }
            points[window] = kept
        }
    }

    /// Returns the oldest point within the given time before now. Only the last hour is searched.
    func point(within milliseconds: Int64, of now: Timestamp) -> Point? {
        points[.hour]?.first { now.milliseconds(since: $0.at) <= milliseconds }
    }

    /// Returns the curves of a window.
    func curves(_ window: Window) -> Curves {
        var curves = Curves(window: window.rawValue, stepSeconds: window.step / 1000)
        let kept = points[window] ?? []
        for (earlier, later) in zip(kept, kept.dropFirst()) {
            let elapsed = later.at.milliseconds(since: earlier.at)
            // If the process was suspended, several steps may have passed.
            let steps = min(max(1, (elapsed + window.step / 2) / window.step), Int64(window.count))
            for _ in 1..<steps { curves.series.appendNothing() }
            let seconds = Double(elapsed > 0 ? elapsed : window.step) / 1000
            curves.series.append(later.totals - earlier.totals, in: seconds, storeBytes: later.storeBytes)
        }
        curves.series.keepLast(window.count)
        if let last = kept.last {
            let length = Int64(curves.series.requestsPerSecond.count) * window.step
            curves.end = EndTime.text(last.at)
            curves.start = EndTime.text(Timestamp(milliseconds: last.at.milliseconds - length))
        }
        return curves
    }
}

/// The curves of a window, as returned by the control plane. Each series has one value per step, in
/// order of time; a step without data has the value `nil`.
struct Curves: Sendable, Hashable, Codable {
    struct Series: Sendable, Hashable, Codable {
        var requestsPerSecond: [Double?] = []
        var hitRatio: [Double?] = []
        var p50Seconds: [Double?] = []
        var p99Seconds: [Double?] = []
        var stalePerSecond: [Double?] = []
        var refusedPerSecond: [Double?] = []
        var originRequestsPerSecond: [Double?] = []
        var offlineAnswerable: [Double?] = []
        var storeBytes: [Double?] = []
    }

    var window: String
    var stepSeconds: Int64
    /// The start of the first step; `nil` if there is no step yet.
    var start: String?
    var end: String?
    var series = Series()

    init(window: String, stepSeconds: Int64) {
        self.window = window
        self.stepSeconds = stepSeconds
    }
}

extension Curves.Series {
    private static let all: [any WritableKeyPath<Self, [Double?]> & Sendable] = [
        \.requestsPerSecond, \.hitRatio, \.p50Seconds, \.p99Seconds, \.stalePerSecond, \.refusedPerSecond,
        \.originRequestsPerSecond, \.offlineAnswerable, \.storeBytes,
    ]

    mutating func appendNothing() { for series in Self.all { self[keyPath: series].append(nil) } }

    mutating func append(_ totals: TrafficTotals, in seconds: Double, storeBytes bytes: Int64?) {
        func rate(_ counter: TrafficTotals.Counter) -> Double { (Double(totals[counter]) / seconds).toDigits }
        requestsPerSecond.append(rate(.requests))
        hitRatio.append(totals.hitRatio?.toDigits)
        p50Seconds.append(totals.quantile(0.5)?.toDigits)
        p99Seconds.append(totals.quantile(0.99)?.toDigits)
        stalePerSecond.append(rate(.staleServed))
        refusedPerSecond.append(rate(.refused))
        originRequestsPerSecond.append(rate(.originRequests))
        offlineAnswerable.append(totals.share(of: .answerable, in: .forecast)?.toDigits)
        storeBytes.append(bytes.map(Double.init))
    }

    mutating func keepLast(_ count: Int) {
        for series in Self.all where self[keyPath: series].count > count {
            self[keyPath: series].removeFirst(self[keyPath: series].count - count)
        }
    }
}

extension Double {
    /// The number rounded to about four significant digits, so that its text is short. All digits
    /// of the integer part are kept.
    var toDigits: Double {
        guard isFinite, self != 0 else { return isFinite ? 0 : self }
        var scale = 1.0
        while magnitude * scale < 1000, scale < 1e9 { scale *= 10 }
        return (self * scale).rounded() / scale
    }
}
