import NIOCore
import Synchronization

/// Provides the map of a cluster, and requests it from any known node.
final class ClusterDirectory: Sendable {
    private typealias Outcome = Result<ClusterMap, RedisTierError>

    private struct State {
        var map: ClusterMap?
        var reading: Task<Outcome, Never>?
        var last: (outcome: Outcome, at: NIODeadline)?
    }

    /// The minimum time between two requests.
    static let pause = TimeAmount.milliseconds(100)

    private let seeds: [RedisEndpoint]
    private let ask: @Sendable (RedisEndpoint) async throws(RedisTierError) -> ClusterMap
    private let now: @Sendable () -> NIODeadline
    private let state = Mutex(State())

    /// - Parameters:
    ///   - seeds: the nodes listed in the address.
    ///   - ask: requests the map from a node.
    init(
        seeds: [RedisEndpoint],
        now: @escaping @Sendable () -> NIODeadline = { .now() },
        ask: @escaping @Sendable (RedisEndpoint) async throws(RedisTierError) -> ClusterMap
    ) {
        self.seeds = seeds
        self.now = now
        self.ask = ask
    }

    convenience init(seeds: [RedisEndpoint], settings: RedisConnectionSettings, on group: any EventLoopGroup) {
        self.init(seeds: seeds) { endpoint async throws(RedisTierError) in
            var settings = settings
            settings.endpoint = endpoint
            settings.limits.replyLength = 4 << 20
            let (connection, _) = try await RedisConnection.connect(settings, on: group.next())
            defer { connection.close() }
            // A node that is cut off from the rest of the cluster has an outdated map.
            let information = try await connection.execute(
                RedisCommand("CLUSTER", "INFO"),
                within: settings.connectTimeout
            )
            if case .error(let error) = information {
                throw RedisTierError(
                    .unreachable,
                    "The server '\(endpoint)' rejected 'CLUSTER INFO' with '\(error.code)'. If it is a single server, "
                        + "begin 'fleet.url' with 'redis://', or with 'rediss://' for TLS."
                )
            }
            guard information.text?.contains("cluster_state:ok") == true else {
                throw RedisTierError(.unreachable, "The node '\(endpoint)' reports that its cluster is incomplete.")
            }
            let reply = try await connection.execute(RedisCommand("CLUSTER", "SLOTS"), within: settings.connectTimeout)
            return try ClusterMap(reply, from: endpoint)
        }
    }

    /// The most recent map; `nil` if none has been read yet.
    var map: ClusterMap? { state.withLock { $0.map } }

    /// Returns a new map. Requests it from one node after another, until one replies with a map.
    /// Concurrent callers share one request. Less than ``pause`` after a request has ended, returns
    /// that request's result.
    func refresh() async throws(RedisTierError) -> ClusterMap {
        let reading: Task<Outcome, Never> = state.withLock { state in
            if let reading = state.reading { return reading }
            if let last = state.last, now() < last.at + Self.pause { return Task { last.outcome } }
            let reading = Task { await self.read() }
            state.reading = reading
            return reading
        }
        return try await reading.value.get()
    }

    private func read() async -> Outcome {
        let known = map.map { $0.primaries + $0.replicas } ?? []
        var failure = RedisTierError(.unreachable, "No node of the cluster is known.")
        var outcome: Outcome?
        var asked: Set<RedisEndpoint> = []
        // Ask in random order, so that a node with an outdated map is not always asked first.
        for endpoint in known.shuffled() + seeds.shuffled() where asked.insert(endpoint).inserted {
            do throws(RedisTierError) {
                outcome = .success(try await ask(endpoint))
                break
            } catch {
                failure = error
            }
        }
        let result = outcome ?? .failure(failure)
        state.withLock { state in
            if case .success(let map) = result { state.map = map }
            state.last = (result, now())
            state.reading = nil
        }
        return result
    }
}
