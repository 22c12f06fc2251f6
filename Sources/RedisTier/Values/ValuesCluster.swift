import FleetTier
import NIOCore
import Synchronization

/// The connections to the primaries of a cluster. A connection is opened when it is first needed,
/// and closed when the map no longer lists its node.
final class ValuesCluster: Sendable {
    typealias MakeNode = @Sendable (RedisConnector, Bool, @escaping @Sendable (SupervisorState) -> Void) -> ValuesNode

    private struct State {
        var isRunning = false
        var nodes: [RedisEndpoint: (node: ValuesNode, task: Task<Void, Never>)] = [:]
    }

    /// The pause before a command is retried.
    static let retryPause = Duration.milliseconds(10)

    private let directory: ClusterDirectory
    private let pollInterval: Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let onFailure: @Sendable (RedisTierError) -> Void
    private let makeNode: @Sendable (RedisEndpoint, @escaping @Sendable (SupervisorState) -> Void) -> ValuesNode
    /// Rings when the map may be outdated.
    private let bell = Bell()
    private let shared = Mutex(State())

    init(
        _ directory: ClusterDirectory,
        pollInterval: Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        onFailure: @escaping @Sendable (RedisTierError) -> Void,
        makeNode: @escaping @Sendable (RedisEndpoint, @escaping @Sendable (SupervisorState) -> Void) -> ValuesNode
    ) {
        self.directory = directory
        self.pollInterval = pollInterval
        self.sleep = sleep
        self.onFailure = onFailure
        self.makeNode = makeNode
    }

    /// The nodes that have connections.
    var places: Set<RedisEndpoint> { shared.withLock { Set($0.nodes.keys) } }

    /// The state: ready if the map is known, even if a node is unreachable.
    var state: SupervisorState {
        guard shared.withLock({ $0.isRunning }) else { return .unreachable }
        return directory.map == nil ? .unreachable : .ready
    }

    // MARK: The map

    /// Keeps the map and the connections up to date until its task is canceled. Call it once.
    func run() async {
        shared.withLock { $0.isRunning = true }
        while !Task.isCancelled {
            do throws(RedisTierError) {
                closeNodes(except: try await directory.refresh().primaries)
            } catch {
                onFailure(error)
            }
            try? await sleep(.nanoseconds(ClusterDirectory.pause.nanoseconds))
            await withTaskGroup { group in
                group.addTask { await self.bell.wait() }
                group.addTask { try? await self.sleep(self.pollInterval) }
                await group.next()
                group.cancelAll()
            }
        }
        let tasks = shared.withLock { state in
            state.isRunning = false
            defer { state.nodes = [:] }
            return state.nodes.values.map(\.task)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func closeNodes(except primaries: [RedisEndpoint]) {
        let gone = shared.withLock { state in
            let gone = state.nodes.filter { !primaries.contains($0.key) }
            for place in gone.keys { state.nodes[place] = nil }
            return gone.values.map(\.task)
        }
        for task in gone { task.cancel() }
    }

    private func node(at place: RedisEndpoint) throws(FleetLogError) -> ValuesNode {
        let node: ValuesNode? = shared.withLock { state in
            if let node = state.nodes[place]?.node { return node }
            guard state.isRunning, state.nodes.count < ClusterMap.mostPrimaries else { return nil }
            let node = makeNode(place) { [weak self] state in
                if state == .unreachable { self?.bell.ring() }
            }
            state.nodes[place] = (node, Task { await node.run() })
            return node
        }
        guard let node else { throw .unreachable }
        return node
    }

    // MARK: Commands

    /// Executes commands on keys of one slot, and follows redirections.
    ///
    /// - Throws: an error for an error reply to any command.
    func perform(
        _ commands: [RedisCommand],
        on slot: HashSlot,
        inTurn: Bool,
        within time: TimeAmount
    ) async throws(FleetLogError) -> [RESPValue] {
        let end = NIODeadline.now() + time
        guard let owner = directory.map?.owner(of: slot) else {
            bell.ring()
            throw .unreachable
        }
        var route = ClusterRoute(owner)
        var replies = try await perform(commands, at: route, inTurn: inTurn, until: end)
        while let redirection = replies.lazy.compactMap({ Redirection($0, from: route.place) }).first {
            let places = replies.indices.filter { Redirection(replies[$0], from: route.place) == redirection }
            if case .moved = redirection { bell.ring() }
            guard route.follow(redirection) else { break }
            if redirection == .tryAgain {
                guard NIODeadline.now() + TimeAmount(Self.retryPause) < end else { throw .timedOut }
                try? await sleep(Self.retryPause)
            }
            // The other commands were executed.
            let again = try await perform(places.map { commands[$0] }, at: route, inTurn: inTurn, until: end)
            for (place, reply) in zip(places, again) { replies[place] = reply }
        }
        do throws(FleetLogError) {
            try FleetLogError.check(replies, isInCluster: true)
        } catch {
            if error == .unreachable { bell.ring() }
            throw error
        }
        return replies
    }

    private func perform(
        _ commands: [RedisCommand],
        at route: ClusterRoute,
        inTurn: Bool,
        until end: NIODeadline
    ) async throws(FleetLogError) -> [RESPValue] {
        let node = try node(at: route.place)
        let time = end - .now()
        guard time > .zero else { throw .timedOut }
        guard route.isAsking else { return try await node.perform(commands, inTurn: inTurn, within: time) }
        // Take turns, because no other command may come between `ASKING` and its command.
        let asking = commands.flatMap { [RedisCommand("ASKING"), $0] }
        let replies = try await node.perform(asking, inTurn: true, within: time)
        return commands.indices.map { replies[2 * $0 + 1] }
    }
}
