/// Decides which requests get spans. The names of the samplers are OpenTelemetry's.
package struct Sampler: Sendable, Hashable {
    /// The sampling decision for a trace.
    enum Decision: Sendable, Hashable {
        case on
        case off
        /// Sample this fraction of traces, from 0 to 1. A trace's ID decides whether it is sampled.
        case ratio(Double)
    }

    let decision: Decision
    /// Whether a request that belongs to a trace follows the trace's decision.
    let isParentBased: Bool

    init(_ decision: Decision, isParentBased: Bool) {
        self.decision = decision
        self.isParentBased = isParentBased
    }

    /// The default sampler, `parentbased_always_on`.
    package static let standard = Sampler(.on, isParentBased: true)

    /// The names that users can choose.
    static let names = [
        "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off",
        "parentbased_traceidratio",
    ]

    /// - Parameter ratio: the fraction, for names with `traceidratio`.
    /// - Returns: `nil` for an unknown name.
    init?(name: String, ratio: Double) {
        guard Self.names.contains(name) else { return nil }
        let isParentBased = name.hasPrefix("parentbased_")
        switch isParentBased ? String(name.dropFirst("parentbased_".count)) : name {
        case "always_on": self.init(.on, isParentBased: isParentBased)
        case "always_off": self.init(.off, isParentBased: isParentBased)
        default: self.init(.ratio(ratio), isParentBased: isParentBased)
        }
    }

    /// Returns whether spans of a trace are recorded.
    func samples(_ trace: TraceID) -> Bool {
        switch decision {
        case .on: true
        case .off: false
        // The last 63 bits of the ID are random and the same in every process of the trace.
        case .ratio(let ratio): ratio >= 1 || Double(trace.low >> 1) < ratio * 0x1p63
        }
    }

    /// Returns whether a child of this span is recorded.
    func samples(below parent: TraceContext) -> Bool { isParentBased ? parent.isSampled : samples(parent.traceID) }
}
