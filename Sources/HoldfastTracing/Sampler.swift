/// Which requests get spans, by the names of OpenTelemetry.
public struct Sampler: Sendable, Hashable {
    /// The decision for a trace.
    enum Decision: Sendable, Hashable {
        case on
        case off
        /// For this share of traces, by their ids: 0…1.
        case ratio(Double)
    }

    let decision: Decision
    /// Whether a request that belongs to a trace is decided as its trace is.
    let isParentBased: Bool

    init(_ decision: Decision, isParentBased: Bool) {
        self.decision = decision
        self.isParentBased = isParentBased
    }

    /// `parentbased_always_on`
    public static let standard = Sampler(.on, isParentBased: true)

    /// The names that a user may choose.
    static let names = [
        "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off",
        "parentbased_traceidratio",
    ]

    /// - Parameter ratio: for the names with `traceidratio`.
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

    /// Whether spans of a trace are recorded.
    func samples(_ trace: TraceID) -> Bool {
        switch decision {
        case .on: true
        case .off: false
        // The last 63 bits of the id are a random number, the same for every process of the trace.
        case .ratio(let ratio): ratio >= 1 || Double(trace.low >> 1) < ratio * 0x1p63
        }
    }

    /// Whether a span below this one is recorded.
    func samples(below parent: TraceContext) -> Bool { isParentBased ? parent.isSampled : samples(parent.traceID) }
}
