/// A node's reply that a command belongs to another node or must be retried. The command was not
/// executed.
enum Redirection: Sendable, Hashable {
    /// Another node owns the slot.
    case moved(RedisEndpoint)
    /// The slot is migrating, and the target node has the key.
    case ask(RedisEndpoint)
    /// The slot is migrating, and only some of the keys have arrived.
    case tryAgain

    /// - Parameter source: the node that replied.
    init?(_ reply: RESPValue, from source: RedisEndpoint) {
        guard case .error(let error) = reply else { return nil }
        let words = error.text.split(separator: " ", omittingEmptySubsequences: false)
        switch words[0] {
        case "TRYAGAIN": self = .tryAgain
        case "MOVED", "ASK":
            // An IPv6 address in a redirection has no brackets.
            guard words.count == 3, let colon = words[2].lastIndex(of: ":"),
                let port = Int(words[2][words[2].index(after: colon)...]),
                let place = RedisEndpoint.inCluster(String(words[2][..<colon]), port, from: source)
            else { return nil }
            self = words[0] == "ASK" ? .ask(place) : .moved(place)
        default: return nil
        }
    }
}

/// Decides which node receives a call's commands next. A pure value. It follows each kind of
/// redirection at most once.
struct ClusterRoute: Sendable {
    private(set) var place: RedisEndpoint
    /// Whether `ASKING` precedes each command.
    private(set) var isAsking = false
    private var hasMoved = false
    private var hasAsked = false
    private var hasTriedAgain = false

    init(_ place: RedisEndpoint) { self.place = place }

    /// - Returns: whether to retry.
    mutating func follow(_ redirection: Redirection) -> Bool {
        switch redirection {
        case .moved(let place):
            guard !hasMoved else { return false }
            (self.place, isAsking, hasMoved) = (place, false, true)
        case .ask(let place):
            guard !hasAsked else { return false }
            (self.place, isAsking, hasAsked) = (place, true, true)
        case .tryAgain:
            guard !hasTriedAgain else { return false }
            hasTriedAgain = true
        }
        return true
    }
}
