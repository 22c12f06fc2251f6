/// The commands that RedisTier uses, each in a form that changes only the probe's key.
///
/// The server checks the user's rights before it checks the key's type. So a command that fails
/// because of the key's type is allowed.
struct ProbedCommand: Sendable {
    /// The command's name in an access control list, such as `xinfo|stream`.
    let name: String
    let arguments: [RedisCommand.Argument]

    init(_ name: String, _ arguments: RedisCommand.Argument...) {
        self.name = name
        self.arguments = arguments
    }

    var command: RedisCommand {
        let words = name.split(separator: "|").map { $0.uppercased() }
        return RedisCommand(words[0], words.dropFirst().map { .text($0) } + arguments)
    }

    /// Returns the commands for any server.
    static func common(_ key: RedisCommand.Argument) -> [ProbedCommand] {
        [
            ProbedCommand("ping"), ProbedCommand("time"), ProbedCommand("info", "server"),
            ProbedCommand("eval", "return 1", 0), ProbedCommand("get", key),
            // No script has this digest, so no script runs.
            ProbedCommand("evalsha", .text(String(repeating: "0", count: 40)), 0),
        ]
    }

    /// Returns a command that creates the key, with a lifetime of 10 seconds.
    static func make(_ key: RedisCommand.Argument) -> ProbedCommand {
        ProbedCommand("set", key, "probe", "PX", 10_000)
    }
    /// Returns a command that removes the key.
    static func remove(_ key: RedisCommand.Argument) -> ProbedCommand { ProbedCommand("del", key) }

    /// Returns the commands for the log. The key must be a string or not exist.
    ///
    /// - Parameter isText: whether the key is a string. If the key does not exist, commands that
    ///   would create a key of another type are omitted.
    static func log(_ key: RedisCommand.Argument, isText: Bool) -> [ProbedCommand] {
        [
            ProbedCommand("exists", key), ProbedCommand("hmget", key, "a"), ProbedCommand("hgetall", key),
            ProbedCommand("hdel", key, "a"), ProbedCommand("hincrby", key, "a", "no number"),
            ProbedCommand("xadd", key, "NOMKSTREAM", "*", "a", "b"), ProbedCommand("xrange", key, "-", "+", "COUNT", 1),
            ProbedCommand("xrevrange", key, "+", "-", "COUNT", 1),
            ProbedCommand("xread", "COUNT", 1, "STREAMS", key, "0"), ProbedCommand("xtrim", key, "MAXLEN", 1),
            ProbedCommand("xinfo|stream", key), ProbedCommand("wait", 0, 1),
        ] + (isText ? [ProbedCommand("hset", key, "a", "b")] : [])
    }

    /// Returns the commands for responses and leases.
    static func values(_ key: RedisCommand.Argument) -> [ProbedCommand] {
        [ProbedCommand("mget", key), ProbedCommand("getrange", key, 0, 0), ProbedCommand("pexpire", key, 10_000)]
    }

    /// The commands for the nodes of a cluster.
    static let cluster = [ProbedCommand("cluster|info"), ProbedCommand("cluster|slots"), ProbedCommand("asking")]

    /// Returns the access control rule that allows exactly the required commands.
    static func rule(user: String?, namespace: String, sharesResponses: Bool, isCluster: Bool) -> String {
        var all = [make(""), remove("")] + common("") + log("", isText: true)
        if sharesResponses { all += values("") }
        if isCluster { all += cluster }
        let commands = all.map { "+\($0.name)" }.sorted().joined(separator: " ")
        return "ACL SETUSER \(user ?? "holdfast") on >PASSWORD resetkeys ~hf1:\(namespace):* -@all \(commands)"
    }
}
