import SharedTier

/// The state of a server, as far as it tells of it. Parts that it did not tell are `nil`.
struct ServerFacts: Sendable {
    var endpoint: RedisEndpoint
    var usesTLS = false
    /// The lines of `INFO`; `nil` if the user may not see them.
    var information: [String: String]?
    /// The reply of `CONFIG GET`; `nil` if the user may not see it, as at many providers.
    var settings: [String: String]?
    /// From the greeting.
    var greetedVersion: String?
    /// The times until the replies to `PING`.
    var pings: [Duration] = []
    /// The server's clock less the node's, in milliseconds.
    var clockOffset: Int64?
    /// Commands that the user may not perform, as the access control list names them.
    var denied: [String] = []
    /// Whether the user may not use the fleet's keys.
    var deniesKeys = false
    /// The word with which the server rejected a write, such as `OOM`.
    var rejectedWrite: String?
    /// The log, if this server has it; `nil` if there is none, or it may not be seen.
    var log: LogFacts?
    /// Whether the log was looked at.
    var hasLookedAtLog = false

    /// The state of the log.
    struct LogFacts: Sendable, Hashable {
        var count = 0
        var firstAt: EngineTime?
        var now: EngineTime?
        /// Whether entries before the first one were removed.
        var isTrimmed = false
        /// The epoch that its meta key names; `nil` if it has none.
        var epoch: String?
        /// Whether this server began that epoch.
        var isOfThisServer = false
        /// How many of the last entries were opened, and how many of these could not be.
        var openedCount = 0
        var unreadableCount = 0
        /// Of the nodes that have not ended.
        var rows: [NodeRow] = []
    }

    func number(_ name: String) -> Int64? { information?[name].flatMap { Int64($0) } }

    /// Such as `7.0.15`.
    var version: String? {
        information?["valkey_version"] ?? information?["redis_version"] ?? greetedVersion
    }
    var product: String { information?["valkey_version"] == nil ? "Redis" : "Valkey" }

    /// The lines `name:value` of `INFO`.
    static func lines(_ text: String) -> [String: String] {
        var lines: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":"), !line.hasPrefix("#") else { continue }
            lines[String(line[..<colon])] = String(line[line.index(after: colon)...])
        }
        return lines
    }

    /// The pairs of `CONFIG GET`.
    static func pairs(_ reply: RESPValue) -> [String: String]? {
        guard let entries = reply.entries else { return nil }
        var pairs: [String: String] = [:]
        for entry in entries { if let key = entry.key.text { pairs[key] = entry.value.text } }
        return pairs
    }
}
