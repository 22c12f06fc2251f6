/// The history of one resource: when the origin sent which version, and when changes made versions
/// invalid.
struct History: Sendable {
    /// One version, for one selector.
    struct Name: Hashable, Sendable {
        var version: Int
        var selector: String
    }

    /// The times at which the origin sent a version as the current one.
    struct Appearance: Sendable {
        var first: Moment
        var last: Moment
        /// The last sending that permits storing or freshening it; `nil` if there was none.
        var confirmed: Moment?
        /// Since when its connection is known to have sent surplus bytes.
        var tainted: Moment?
    }

    /// After a change through the gateway, no lower version is valid.
    struct Floor: Sendable {
        var version: Int
        var at: Moment
        var cause: String
    }

    private(set) var appearances: [Name: Appearance] = [:]
    /// The highest version that is not remembered any more. A response that is fresh for an hour
    /// may outlive the memory of it.
    private(set) var forgotten = 0
    private(set) var floors: [Floor] = []
    /// The most versions to remember, with their selectors.
    static let limit = 2000

    private var events: [(at: Moment, what: String)] = []

    mutating func append(_ event: String, at: Moment) {
        events.append((at, event))
        if events.count > 24 { events.removeFirst(12) }
    }

    mutating func recordSending(_ name: Name, confirms: Bool, at: Moment) {
        var appearance = appearances[name] ?? Appearance(first: at, last: at)
        appearance.last = at
        if confirms { appearance.confirmed = at }
        appearances[name] = appearance
        guard appearances.count > Self.limit else { return }
        // Old versions are removed, because an entry for each version of a long run would be a
        // leak.
        let oldest = appearances.values.map(\.last).sorted()[Self.limit / 2]
        let removed = appearances.filter { $0.value.last <= oldest }
        forgotten = max(forgotten, removed.keys.map(\.version).max() ?? 0)
        for name in removed.keys { appearances[name] = nil }
    }

    mutating func taint(_ name: Name, at: Moment) {
        appearances[name]?.tainted = at
    }

    /// Called if the bytes behind it came when its connection already had another request.
    mutating func forgive(_ name: Name) { appearances[name]?.tainted = nil }

    /// Called if the state of the connection that brought the response is unknown.
    mutating func forgetTaints(after moment: Moment) {
        for (name, appearance) in appearances {
            if let tainted = appearance.tainted, tainted > moment { appearances[name]?.tainted = nil }
        }
    }

    mutating func invalidate(below version: Int, at: Moment, cause: String) {
        floors.append(Floor(version: version, at: at, cause: cause))
        if floors.count > 64 { floors.removeFirst(32) }
    }

    /// The highest low-water mark at a moment.
    func floor(at moment: Moment) -> Floor? {
        floors.filter { $0.at < moment }.max { $0.version < $1.version }
    }

    /// - Parameter now: the reference time of the lines.
    func lines(until now: Moment) -> [String] {
        events.suffix(14).map { "\(Self.seconds($0.at - now)) s  \($0.what)" }
    }

    static func seconds(_ span: Double) -> String {
        guard span.isFinite else { return "never" }
        let thousandths = Int((span * 1_000).rounded())
        let digits = String(abs(thousandths) % 1_000)
        return "\(thousandths < 0 ? "-" : "+")\(abs(thousandths) / 1_000)."
            + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
