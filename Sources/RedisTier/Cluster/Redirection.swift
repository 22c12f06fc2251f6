/// A node's reply that a command is for another node, or for later. The command was not performed.
enum Redirection: Sendable, Hashable {
    /// The slot is at another node.
    case moved(RedisEndpoint)
    /// The key, on its way to another node, is there.
    case ask(RedisEndpoint)
    /// Some of the keys are here, and others there.
    case tryAgain

    /// - Parameter source: the node that replied.
    init?(_ reply: RESPValue, from source: RedisEndpoint) {
        guard case .error(let error) = reply else { return nil }
        let words = error.text.split(separator: " ", omittingEmptySubsequences: false)
        switch words[0] {
        case "TRYAGAIN": self = .tryAgain
        case "MOVED", "ASK":
            // An address of IPv6 has no brackets here.
            guard words.count == 3, let colon = words[2].lastIndex(of: ":"),
                let port = Int(words[2][words[2].index(after: colon)...]),
                let place = RedisEndpoint.inCluster(String(words[2][..<colon]), port, from: source)
            else { return nil }
            self = words[0] == "ASK" ? .ask(place) : .moved(place)
        default: return nil
        }
    }
}

/// Where a call goes next. Each kind of redirection is followed once. Pure.
struct ClusterRoute: Sendable {
    private(set) var place: RedisEndpoint
    /// Whether `ASKING` goes before each command.
    private(set) var isAsking = false
    private var hasMoved = false
    private var hasAsked = false
    private var hasTriedAgain = false

    init(_ place: RedisEndpoint) { self.place = place }

    /// - Returns: whether to try again.
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
