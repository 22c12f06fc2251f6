/// Decides which of an origin's servers may get a request, and in which order. A pure value.
///
/// Servers have turns: the server that was chosen longest ago comes first. With `balance: listed`,
/// no server ever has a turn, so the configured order decides. With `round-robin`, each choice
/// gives the chosen server the highest turn. Unlike a counter, turns stay fair if some requests may
/// go to only some of the servers.
struct ServerChoice: Sendable, Hashable {
    /// The indexes of the servers to try, in order.
    let inUse: [Int]
    /// The indexes of the servers that are set aside after failures, in order.
    let aside: [Int]
    /// Whether operators drained every server that may get the request.
    let isDrained: Bool

    /// - Parameters:
    ///   - servers: all servers: the origin's own, then its mirrors.
    ///   - mayHave: whether a server may get the request.
    init(among servers: [Failover.Server], _ mayHave: (Failover.Server) -> Bool) {
        let allowed = servers.enumerated().filter { mayHave($0.element) }
        let usable = allowed.filter { !$0.element.isDrained }
        let ordered = usable.sorted { ($0.element.turn, $0.offset) < ($1.element.turn, $1.offset) }
        inUse = ordered.filter { $0.element.availability == .available }.map { $0.offset }
        aside = ordered.filter { $0.element.availability == .aside }.map { $0.offset }
        isDrained = usable.isEmpty && !allowed.isEmpty
    }
}
