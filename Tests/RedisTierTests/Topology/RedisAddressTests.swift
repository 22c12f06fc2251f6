import NIOCore
import NIOPosix
import Testing

@testable import RedisTier

@Suite(.timeLimit(.minutes(20))) struct RedisAddressTests {
    @Test(arguments: [
        ("redis://cache.internal", "cache.internal:6379 false nil"),
        ("redis://cache.internal:7000/", "cache.internal:7000 false nil"),
        ("valkey://10.0.0.1:1", "10.0.0.1:1 false nil"), ("rediss://h:65535", "h:65535 true nil"),
        ("valkeys://holdfast@h", "h:6379 true Optional(\"holdfast\")"),
        ("REDISS://[::1]:7000", "[::1]:7000 true nil"), ("redis://[fe80::1]", "[fe80::1]:6379 false nil"),
    ])
    func addressOfOneServerIsRead(_ url: String, _ expected: String) throws {
        let address = try RedisAddress(url: url)
        guard case .server(let endpoint) = address.topology else { return _ = Issue.record("no server") }
        #expect("\(endpoint) \(address.usesTLS) \(address.user.debugDescription)" == expected)
    }

    @Test func addressOfSentinelsIsRead() throws {
        let address = try RedisAddress(url: "redis+sentinel://main@s1,s2:5000,[::1]:5001")
        let endpoints = [
            RedisEndpoint.tcp(host: "s1", port: 26379), .tcp(host: "s2", port: 5000), .tcp(host: "::1", port: 5001),
        ]
        #expect(address.topology == .sentinels(endpoints, primary: "main"))
        #expect(!address.usesTLS && address.user == nil)
        #expect(try RedisAddress(url: "rediss+sentinel://main@s1").usesTLS)
    }

    @Test func addressOfAClusterIsRead() throws {
        let endpoints = [RedisEndpoint.tcp(host: "a", port: 6379), .tcp(host: "::1", port: 7000)]
        for (url, usesTLS) in [("redis", false), ("rediss", true), ("valkey", false), ("valkeys", true)] {
            let address = try RedisAddress(url: "\(url)+cluster://holdfast@a,[::1]:7000")
            #expect(address.topology == .cluster(endpoints))
            #expect(address.usesTLS == usesTLS && address.user == "holdfast")
        }
        #expect(try RedisAddress(url: "redis+cluster://a").user == nil)
    }

    @Test(arguments: [
        "", "redis", "redis:/h", "://h", "http://h", "redis://", "redis://:6379", "redis://h:", "redis://h:0",
        "redis://h:65536", "redis://h:+1", "redis://h:1x", "redis://h/1", "redis://h?a=b", "redis://h#a", "redis://%41",
        "redis://a@b@c", "redis://@h", "redis://user:hunter2@h", "redis://a b", "redis://[::1", "redis://[g::1]",
        "redis://a,b", "redis+sentinel://s1", "redis+sentinel://main@", "redis+sentinel://main@s1,",
        "redis+cluster://", "redis+cluster://a,", "redis+cluster://user:hunter2@h",
        "redis+cluster://" + Array(repeating: "s", count: 17).joined(separator: ","),
        "redis+sentinel://main:hunter2@s1",
        "redis+sentinel://main@" + Array(repeating: "s", count: 17).joined(separator: ","),
        "redis://" + String(repeating: "a", count: 254),
    ])
    func otherTextsAreRejectedWithoutShowingThem(_ url: String) {
        let error = #expect(throws: RedisTierError.self) { try RedisAddress(url: url) }
        #expect(error?.code == .rejected && error?.message.contains("hunter2") == false)
    }

    @Test(
        arguments: [
            ("redis://h", nil, true), ("redis://user@h", "pw", true), ("redis://user@h", nil, false),
            ("rediss://h", nil, false), ("redis+sentinel://main@h", "pw", true),
        ] as [(String, String?, Bool)]
    )
    func settingsGoWithTheAddress(_ url: String, _ password: String?, _ isValid: Bool) throws {
        let address = try RedisAddress(url: url)
        let settings = RedisConnectionSettings(endpoint: .unix(path: "/"))
        let connector = try? RedisConnector(
            address,
            settings: settings,
            password: password,
            on: MultiThreadedEventLoopGroup.singleton
        )
        #expect((connector != nil) == isValid)
    }

    // MARK: Sentinels

    private func endpoint(_ name: String) -> RedisEndpoint { .tcp(host: name, port: 1) }

    /// A winner after each reply, `-` while nothing is decided.
    private func winners(_ sentinels: Int, _ replies: [(Int, String?)]) -> [String] {
        var ballot = SentinelBallot(sentinels: sentinels)
        return replies.map { number, name in
            ballot.add(name.map { endpoint($0) }, from: number)
            guard ballot.isDecided else { return "-" }
            return ballot.winner.map { "\($0)" } ?? "none"
        }
    }

    @Test func majorityOfSentinelsDecides() {
        #expect(winners(1, [(0, "a")]) == ["a:1"])
        #expect(winners(3, [(2, "a"), (0, "a")]) == ["-", "a:1"])
        // The one that is cut off is outvoted, though it is the first.
        #expect(winners(3, [(0, "old"), (1, "new"), (2, "new")]) == ["-", "-", "new:1"])
        #expect(winners(3, [(0, nil), (2, "a"), (1, nil)]) == ["-", "-", "a:1"])
        #expect(winners(2, [(0, nil), (1, nil)]) == ["-", "none"])
        // Half of them is no majority: all are waited for, and the first in the list decides.
        #expect(winners(4, [(3, "b"), (2, "b"), (1, "a"), (0, "a")]) == ["-", "-", "-", "a:1"])
    }

    @Test func repliesOfSentinelsAreRead() {
        #expect(
            SentinelGroup.endpoint(.array([.bulk("10.0.0.1"), .bulk("6379")])) == .tcp(host: "10.0.0.1", port: 6379)
        )
        for reply: RESPValue in [
            .null, .array([]), .array([.bulk("h")]), .array([.bulk("h"), .bulk("0")]),
            .array([.bulk("h"), .bulk("x")]),
            .array([.bulk(""), .bulk("1")]), .array([.bulk("h"), .bulk("65536")]), .failed("ERR No such master"),
            .array([.bulk(String(repeating: "h", count: 254)), .bulk("1")]), .array([.integer(1), .integer(1)]),
        ] {
            #expect(SentinelGroup.endpoint(reply) == nil)
        }
    }
}
