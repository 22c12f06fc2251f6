/// A part of the load that can be selected or excluded by name: the habits of clients, and faults.
enum Part: String, CaseIterable, Sendable {
    // Habits.
    case plain, pipeline, discard, early, head, invalidate, behind, cut, range, conditional, principal, slow, abort
    case expect, halfclose, upload, error, burst
    // Faults.
    case change, outage, kill, reload, pause, dump

    static let faults: Set<Part> = [.change, .outage, .kill, .reload, .pause, .dump]

    /// The habits in bursts: thirty clients at one moment.
    static let burstHabits: Set<Part> = [.early, .burst]

    var isFault: Bool { Self.faults.contains(self) }

    /// The faults that the habit needs to show anything.
    var needed: Set<Part> {
        switch self {
        case .invalidate: [.outage]
        case .plain, .conditional, .burst, .error: [.change]
        default: []
        }
    }
}
