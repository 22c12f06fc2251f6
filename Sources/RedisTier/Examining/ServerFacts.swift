import FleetTier

/// The state of a server, as far as the server reports it. Parts that it did not report are `nil`.
struct ServerFacts: Sendable {
    var endpoint: RedisEndpoint
    var usesTLS = false
    /// The lines of `INFO`; `nil` if the user may not see them.
    var information: [String: String]?
    /// The reply of `CONFIG GET`; `nil` if the user may not see it, which is common with hosted
    /// servers.
    var settings: [String: String]?
    /// From the greeting.
    var greetedVersion: String?
    /// The response times of `PING`.
    var pings: [Duration] = []
    /// The server's clock minus the node's, in milliseconds.
    var clockOffset: Int64?
    /// Commands that the user may not run, as the access control list names them.
    var denied: [String] = []
    /// Whether the user is denied the fleet's keys.
    var deniesKeys = false
    /// The error code with which the server rejected a write, such as `OOM`.
    var rejectedWrite: String?
    /// The log, if this server has it; `nil` if there is none or the user may not see it.
    var log: LogFacts?
    /// Whether the log was checked.
    var hasLookedAtLog = false

    /// The state of the log.
    struct LogFacts: Sendable, Hashable {
        var count = 0
        var firstAt: EngineTime?
        var now: EngineTime?
        /// Whether earlier entries were removed.
        var isTrimmed = false
        /// The epoch that its meta key names; `nil` if it has none.
        var epoch: String?
        /// Whether this server began that epoch.
        var isOfThisServer = false
        /// How many of the latest entries were tried, and how many of those could not be opened.
        var openedCount = 0
        var unreadableCount = 0
        /// The rows of nodes that have not ended.
        var rows: [NodeRow] = []
    }

    func number(_ name: String) -> Int64? { information?[name].flatMap { Int64($0) } }

    /// Such as `7.0.15`.
    var version: String? {
        information?["valkey_version"] ?? information?["redis_version"] ?? greetedVersion
    }
    var product: String { information?["valkey_version"] == nil ? "Redis" : "Valkey" }

    /// Parses the lines `name:value` of `INFO`.
    static func lines(_ text: String) -> [String: String] {
        var lines: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":"), !line.hasPrefix("#") else { continue }
            lines[String(line[..<colon])] = String(line[line.index(after: colon)...])
        }
        return lines
    }

    /// Parses the pairs of `CONFIG GET`.
    static func pairs(_ reply: RESPValue) -> [String: String]? {
        guard let entries = reply.entries else { return nil }
        var pairs: [String: String] = [:]
        for entry in entries { if let key = entry.key.text { pairs[key] = entry.value.text } }
        return pairs
    }
}
