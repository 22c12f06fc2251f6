import FleetTier
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import RedisTier

/// Values with two scripted nodes of a cluster.
@Suite(.timeLimit(.minutes(20))) struct RedirectionTests {
    private let limit = Duration.seconds(1200)
    private let name = ValueName("hf1:test:{key}:e")

    /// Two nodes, of which the first has all slots at first.
    private final class Pair: Sendable {
        typealias Reply = @Sendable (_ node: Int, _ words: [String], _ place: (Int) -> String) -> String
        private let peers = Observed<[ScriptedPeer]>([])
        private let seen = Observed<[[String]]>([[], []])
        private let owner = Observed(0)

        /// - Parameter bothOwnSlots: whether the second node owns the last slot. Otherwise the map
        ///   does not list it, and a refresh of the map closes the connections to it.
        init(bothOwnSlots: Bool = false, _ reply: @escaping Reply) throws {
            for node in 0...1 {
                let peer = try ScriptedPeer { [peers, seen, owner] connection in
                    try connection.greet()
                    func port(_ node: Int) -> Int {
                        guard case .tcp(_, let port) = peers.value[node].endpoint else { return 0 }
                        return port
                    }
                    while true {
                        let words = try connection.command()
                        switch words.prefix(2) {
                        case ["CLUSTER", "INFO"]: try connection.write("$16\r\ncluster_state:ok\r\n")
                        case ["CLUSTER", "SLOTS"]:
                            func range(_ first: Int, _ last: Int, _ node: Int) -> String {
                                "*3\r\n:\(first)\r\n:\(last)\r\n*2\r\n$9\r\n127.0.0.1\r\n:\(port(node))\r\n"
                            }
                            let ranges =
                                bothOwnSlots
                                ? "*2\r\n" + range(0, 16382, owner.value) + range(16383, 16383, 1 - owner.value)
                                : "*1\r\n" + range(0, 16383, owner.value)
                            try connection.write(ranges)
                        default:
                            seen.change { $0[node].append(words.joined(separator: " ")) }
                            try connection.write(reply(node, words) { "127.0.0.1:\(port($0))" })
                        }
                    }
                }
                peers.change { $0.append(peer) }
            }
        }

        /// The commands about values that a node got.
        func commands(_ node: Int) -> [String] { seen.value[node] }
        func place(_ node: Int) -> RedisEndpoint { peers.value[node].endpoint }
        func setOwner(_ node: Int) { owner.change { $0 = node } }

        func run(_ body: (RedisValues, ValuesCluster) async throws -> Void) async throws {
            var address = RedisAddress(.cluster([place(0)]))
            address.user = nil
            let connector = try RedisConnector(
                address,
                settings: .patient(.unix(path: "/")),
                password: nil,
                on: MultiThreadedEventLoopGroup.singleton
            )
            let values = RedisValues(
                connector,
                pollInterval: .seconds(1200),
                clock: ContinuousClock(),
                random: { 0.5 }
            )
            guard case .cluster(let cluster) = values.home else { return _ = Issue.record("no cluster") }
            let task = Task { await values.run() }
            while values.state != .ready, !Task.isCancelled { await Task.yield() }
            do {
                try await body(values, cluster)
            } catch {
                task.cancel()
                await task.value
                throw error
            }
            task.cancel()
            await task.value
            #expect(cluster.places.isEmpty)
        }
    }

    private static let found = "*1\r\n$1\r\nx\r\n"

    private func value(_ values: RedisValues) async throws -> String? {
        try await values.values([name], within: limit)[0].map { String(buffer: $0) }
    }

    private func code(_ values: RedisValues, within limit: Duration? = nil) async -> FleetLogError? {
        do throws(FleetLogError) {
            _ = try await values.values([name], within: limit ?? self.limit)
            return nil
        } catch {
            return error
        }
    }

    @Test func movedSlotIsFollowedAndItsMapReadAgain() async throws {
        let pair = try Pair { node, _, place in node == 0 ? "-MOVED 1 \(place(1))\r\n" : Self.found }
        try await pair.run { values, cluster async throws in
            pair.setOwner(1)
            #expect(try await value(values) == "x")
            // The node that has nothing more is left.
            while cluster.places != [pair.place(1)], !Task.isCancelled { await Task.yield() }
            #expect(try await value(values) == "x")
            #expect(pair.commands(0).count == 1 && pair.commands(1).count == 2)
        }
    }

    @Test func movingInACircleEnds() async throws {
        let pair = try Pair(bothOwnSlots: true) { node, _, place in "-MOVED 1 \(place(1 - node))\r\n" }
        try await pair.run { values, _ async throws in
            #expect(await code(values) == .unreachable)
            #expect(pair.commands(0).count == 1 && pair.commands(1).count == 1)
        }
    }

    @Test func askedNodeHearsOfItBeforeEachCommand() async throws {
        let pair = try Pair { node, words, place in
            if words[0] == "ASKING" { return "+OK\r\n" }
            return node == 0 ? "-ASK 1 \(place(1))\r\n" : "$1\r\n\(words[1].last ?? "-")\r\n"
        }
        try await pair.run { values, _ async throws in
            let names = ["a", "b"].map { ValueName("hf1:test:{key}:\($0)") }
            let found = try await values.chunks(names, within: limit).map { $0.map { String(buffer: $0) } }
            #expect(found == ["a", "b"])
            #expect(pair.commands(0) == names.map { "GET \($0.text)" })
            #expect(pair.commands(1) == names.flatMap { ["ASKING", "GET \($0.text)"] })
        }
    }

    /// Only those are sent again that were not performed.
    @Test func halfOfSeveralCommandsIsRedirected() async throws {
        let pair = try Pair { node, words, place in
            if words[0] == "ASKING" { return "+OK\r\n" }
            return node == 0 && words[1].hasSuffix("b") ? "-ASK 1 \(place(1))\r\n" : "$1\r\n\(node)\r\n"
        }
        try await pair.run { values, _ async throws in
            let names = ["a", "b", "c"].map { ValueName("hf1:test:{key}:\($0)") }
            let found = try await values.chunks(names, within: limit).map { $0.map { String(buffer: $0) } }
            #expect(found == ["0", "1", "0"])
            #expect(pair.commands(1) == ["ASKING", "GET \(names[1].text)"])
        }
    }

    @Test func commandIsTriedAgainOnce() async throws {
        let replies = Observed(["-TRYAGAIN a\r\n", Self.found, "-TRYAGAIN b\r\n", "-TRYAGAIN c\r\n", Self.found])
        let pair = try Pair { _, _, _ in replies.change { $0.removeFirst() } }
        try await pair.run { values, _ async throws in
            #expect(try await value(values) == "x")
            #expect(await code(values) == .unreachable)
            #expect(pair.commands(0).count == 4)
            #expect(await code(values, within: .milliseconds(1)) != .refused("TRYAGAIN"))
        }
    }

    @Test func clusterThatIsDownIsUnreachable() async throws {
        let replies = Observed(["-CLUSTERDOWN The cluster is down\r\n", Self.found, "-MOVED 1 ?:1\r\n"])
        let pair = try Pair { _, _, _ in replies.change { $0.removeFirst() } }
        try await pair.run { values, _ async throws in
            #expect(await code(values) == .unreachable)
            #expect(try await value(values) == "x")
            #expect(await code(values) == .unreachable)
            #expect(pair.commands(0).count == 3)
        }
    }

    @Test func deadlineHoldsOverRetries() async throws {
        let pair = try Pair { node, _, place in node == 0 ? "-MOVED 1 \(place(1))\r\n" : "" }
        try await pair.run { values, _ async throws in
            let error = await code(values, within: .milliseconds(100))
            #expect(error == .timedOut || error == .unreachable)
        }
    }
}
