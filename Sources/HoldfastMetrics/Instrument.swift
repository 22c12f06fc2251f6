import CoreMetrics
import Synchronization

/// Holds the value of one series.
protocol Instrument: AnyObject, Sendable {
    var value: MetricSeries.Value { get }

    /// Returns whether the instrument can hold the values of a metric of this kind.
    static func suits(_ kind: MetricDescription.Kind) -> Bool
}

final class CounterInstrument: Instrument, CounterHandler {
    private let total = Atomic<Int64>(0)

    var value: MetricSeries.Value { .integer(total.load(ordering: .relaxed)) }

    static func suits(_ kind: MetricDescription.Kind) -> Bool { kind == .counter }

    func increment(by amount: Int64) { total.wrappingAdd(amount, ordering: .relaxed) }

    func reset() { total.store(0, ordering: .relaxed) }
}

final class GaugeInstrument: Instrument, RecorderHandler, MeterHandler {
    private let bits = Atomic<UInt64>(0)

    var value: MetricSeries.Value { .number(Double(bitPattern: bits.load(ordering: .relaxed))) }

    static func suits(_ kind: MetricDescription.Kind) -> Bool { kind == .gauge }

    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
    func increment(by amount: Double) { add(amount) }
    func decrement(by amount: Double) { add(-amount) }

    private func add(_ amount: Double) {
        var known = bits.load(ordering: .relaxed)
        while true {
            let sum = Double(bitPattern: known) + amount
            let (exchanged, original) = bits.weakCompareExchange(
                expected: known,
                desired: sum.bitPattern,
                ordering: .relaxed
            )
            if exchanged { return }
            known = original
        }
    }
}

final class HistogramInstrument: Instrument, RecorderHandler, TimerHandler {
    private let histogram: Mutex<Histogram>

    /// - Parameter kind: a histogram. For any other kind, a single bucket counts all values.
    init(_ kind: MetricDescription.Kind) {
        if case .histogram(let bounds) = kind {
            histogram = Mutex(Histogram(bounds))
        } else {
            histogram = Mutex(Histogram([]))
        }
    }

    var value: MetricSeries.Value { histogram.withLock(\.value) }

    static func suits(_ kind: MetricDescription.Kind) -> Bool {
        if case .histogram = kind { true } else { false }
    }

    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) { histogram.withLock { $0.add(value) } }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
