/// The times of excusable failures: the faults that the harness caused in the gateway and the
/// honest origin.
struct Troubles: Sendable {
    enum Place: Sendable, Hashable { case gateway, origin }

    struct Span: Sendable {
        var place: Place
        var from: Moment
        var to: Moment?
    }

    private(set) var spans: [Span] = []

    mutating func begin(_ place: Place, at: Moment) {
        spans.append(Span(place: place, from: at))
        if spans.count > 256 { spans.removeFirst(64) }
    }

    mutating func end(_ place: Place, at: Moment) {
        guard let index = spans.lastIndex(where: { $0.place == place && $0.to == nil }) else { return }
        spans[index].to = at
    }

    /// Whether anything of a place was wrong at some time of a span.
    func touch(_ place: Place, from: Moment, to: Moment) -> Bool {
        spans.contains { $0.place == place && $0.from <= to && ($0.to ?? .infinity) >= from }
    }
}
