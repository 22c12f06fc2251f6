import FleetTier
import HTTPCache

/// The state of a server, as far as it is known. A part that the server did not report is `nil`.
struct ServerFacts: Sendable {
    var endpoint: RedisEndpoint
    var usesTLS = false
    /// The lines of `INFO`; `nil` if the user has no access to them.
    var information: [String: String]?
    /// The reply to `CONFIG GET`; `nil` if the user has no access to it, which is common on hosted
    /// servers.
    var settings: [String: String]?
    /// The version in the server's greeting.
    var greetedVersion: String?
    /// The response times of `PING`.
    var pings: [Duration] = []
    /// The server's clock minus the node's, in milliseconds.
    var clockOffset: Int64?
    /// The commands that the user is not allowed to run, by their names in access control lists.
    var denied: [String] = []
    /// Whether the user has no access to the fleet's keys.
    var deniesKeys = false
    /// The error code with which the server rejected a write, such as `OOM`.
    var rejectedWrite: String?
    /// The state of the log; `nil` if the server has no log or the log was not checked.
    var log: LogFacts?
    /// Whether the log was checked.
    var hasLookedAtLog = false

    /// The state of the log.
    struct LogFacts: Sendable, Hashable {
        var count = 0
        var firstAt: EngineTime?
        /// The position of the last entry; `nil` if the server did not report it.
        var last: LogPosition?
        var now: EngineTime?
        /// Whether entries have been removed from the start of the log.
        var isTrimmed = false
        /// The epoch named by the log's meta key; `nil` if there is none.
        var epoch: String?
        /// Whether this server began that epoch, in its current run.
        var isOfThisServer = false
        /// The number of the latest entries that were tried, and the number of them that could not
        /// be decrypted.
        var openedCount = 0
        var unreadableCount = 0
        /// The rows of nodes that have not ended.
        var rows: [NodeRow] = []
    }

    func number(_ name: String) -> Int64? { information?[name].flatMap { Int64($0) } }

    /// The server's version, such as `7.0.15`.
    var version: String? {
        information?["valkey_version"] ?? information?["redis_version"] ?? greetedVersion
    }
    var product: String { information?["valkey_version"] == nil ? "Redis" : "Valkey" }

    /// Parses the `name:value` lines of `INFO`.
    static func lines(_ text: String) -> [String: String] {
        var lines: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":"), !line.hasPrefix("#") else { continue }
            lines[String(line[..<colon])] = String(line[line.index(after: colon)...])
        }
        return lines
    }

    /// Parses the name-value pairs of `CONFIG GET`.
    static func pairs(_ reply: RESPValue) -> [String: String]? {
        guard let entries = reply.entries else { return nil }
        var pairs: [String: String] = [:]
        for entry in entries { if let key = entry.key.text { pairs[key] = entry.value.text } }
        return pairs
    }
}
