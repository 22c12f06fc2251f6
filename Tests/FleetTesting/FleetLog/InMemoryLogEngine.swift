package import FleetTier
import HTTPCache
import Synchronization

/// An in-memory engine for fleet logs: a primary, a replica that may lag behind, and the faults of
/// a real engine. It uses no randomness and no real clock.
package final class InMemoryLogEngine: Sendable {
    /// When the replica receives written data.
    package enum Replication: Sendable {
        /// The replica receives the data immediately.
        case immediate
        /// The replica receives the data when ``InMemoryLogEngine/replicate(_:)`` is called or a
        /// node waits for the replica.
        case onDemand
        /// The replica receives no data, because the link is down.
        case held
    }

    fileprivate struct State {
        var servers: [InMemoryLogServer] = [InMemoryLogServer(identity: 0)]
        var primary = 0
        var replication = Replication.immediate
        var isStalled = false
        var entriesTaken = Int.max
        var waiting: [Int: (server: Int, signal: AsyncStream<Void>.Continuation)] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> EngineTime
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameters:
    ///   - clock: the clock on which readers wait for entries.
    ///   - now: returns the engine's time.
    package init<C: Clock>(clock: C, now: @escaping @Sendable () -> EngineTime) where C.Duration == Duration {
        self.now = now
        sleep = { try await clock.sleep(for: $0) }
    }

    /// Connects another node.
    package func makeLog() -> InMemoryFleetLog { InMemoryFleetLog(engine: self) }

    // MARK: Faults

    package func setReplication(_ replication: Replication) {
        state.withLock { state in
            state.replication = replication
            if case .immediate = replication { state.servers[state.primary].send() }
        }
    }

    /// Sends the oldest pending operations to the replica, unless the link is down.
    package func replicate(_ count: Int) {
        state.withLock { state in
            if case .held = state.replication { return }
            state.servers[state.primary].send(count)
        }
    }

    /// Stalls the engine or ends the stall. While it is stalled, calls time out immediately and
    /// change nothing.
    package func setStalled(_ isStalled: Bool) { state.withLock { $0.isStalled = isStalled } }

    /// Limits the number of entries that the engine accepts in each call.
    package func takeEntries(atMost count: Int) { state.withLock { $0.entriesTaken = count } }

    var entriesTaken: Int { state.withLock { $0.entriesTaken } }

    /// Promotes the replica. The new primary gets a new replica.
    ///
    /// - Parameter oldPrimaryLives: whether nodes that are connected to the old primary stay
    ///   connected to it.
    /// - Returns: the number of lost operations.
    @discardableResult
    package func failOver(oldPrimaryLives: Bool) -> Int {
        let (lost, signals) = state.withLock { state in
            let old = state.primary
            let data = state.servers[old].replica ?? LogData()
            let lost = state.servers[old].unsent.count
            state.servers[old].replica = nil
            state.servers[old].unsent = []
            state.primary = state.servers.count
            state.servers.append(InMemoryLogServer(identity: state.primary, data: data, replica: data))
            return (lost, oldPrimaryLives ? [] : state.end(old))
        }
        for signal in signals { signal.finish() }
        return lost
    }

    /// Stops the primary and starts it again with a new identity.
    package func restart(keepingData: Bool) {
        let signals = state.withLock { state in
            let old = state.primary
            let data = keepingData ? state.servers[old].data : LogData()
            state.primary = state.servers.count
            state.servers.append(InMemoryLogServer(identity: state.primary, data: data, replica: data))
            return state.end(old)
        }
        for signal in signals { signal.finish() }
    }

    /// Removes all data, like `FLUSHALL`. Waiting readers are not notified.
    package func flush() { perform { $0 = LogData() } }

    /// Evicts only the log.
    package func evictLog() {
        perform {
            $0.entries = []
            $0.last = nil
        }
    }

    /// Evicts only the record of the current epoch.
    package func evictEpoch() {
        perform {
            $0.epoch = nil
            $0.owner = nil
        }
    }

    /// Evicts only the IDs of purges, so that a purge may be added twice.
    package func evictNames() { perform { $0.names = [:] } }

    /// Evicts only the node rows.
    package func evictNodes() { perform { $0.nodes = [:] } }

    /// Removes the oldest entries. At least one entry stays.
    package func trim(to count: Int) {
        state.withLock { $0.servers[$0.primary].trim(LogRetention(count: count)) }
    }

    private func perform(_ operation: @escaping InMemoryLogServer.Operation) {
        state.withLock { $0.perform(on: $0.primary, operation) }
    }

    // MARK: Connections

    /// The primary's number.
    var primary: Int { state.withLock { $0.primary } }

    func isAlive(_ server: Int) -> Bool { state.withLock { $0.servers[server].isAlive } }

    /// Runs a body on a server, and wakes the readers that wait for a new entry.
    ///
    /// - Throws: `unreachable` if the server is dead, `timedOut` if the engine is stalled, or the
    ///   error of `body`.
    func with<Value>(
        _ number: Int,
        _ body: (inout InMemoryLogServer, EngineTime) throws(FleetLogError) -> sending Value
    ) throws(FleetLogError) -> sending Value {
        let time = now()
        let (result, signals) = state.withLock {
            state -> (Result<Value, FleetLogError>, [AsyncStream<Void>.Continuation]) in
            guard state.servers[number].isAlive else { return (.failure(.unreachable), []) }
            guard !state.isStalled else { return (.failure(.timedOut), []) }
            let last = state.servers[number].data.last
            let result: Result<Value, FleetLogError>
            do throws(FleetLogError) {
                result = .success(try body(&state.servers[number], time))
            } catch {
                result = .failure(error)
            }
            if case .immediate = state.replication { state.servers[number].send() }
            // Like a real engine, it wakes readers only for new entries.
            guard let present = state.servers[number].data.last, present != last else { return (result, []) }
            return (result, state.takeWaiting(number))
        }
        for signal in signals { signal.finish() }
        return try result.get()
    }

    /// Makes the replica confirm everything that was written; returns 0 if the replica is not
    /// connected.
    func confirm(_ number: Int) -> Int {
        state.withLock { state in
            if case .held = state.replication { return 0 }
            guard state.servers[number].replica != nil else { return 0 }
            state.servers[number].send()
            return 1
        }
    }

    /// Waits until there is an entry after a position, the server stops, or the time has passed.
    func wait(on number: Int, after cursor: LogPosition, for time: Duration) async {
        let (stream, signal) = AsyncStream.makeStream(of: Void.self)
        let waiter: Int? = state.withLock { state in
            let server = state.servers[number]
            guard server.isAlive, server.data.entries.last.map({ $0.position <= cursor }) ?? true else { return nil }
            state.nextWaiter += 1
            state.waiting[state.nextWaiter] = (number, signal)
            return state.nextWaiter
        }
        guard let waiter else { return }
        await withTaskGroup { group in
            group.addTask { [sleep] in try? await sleep(time) }
            group.addTask { for await _ in stream {} }
            await group.next()
            group.cancelAll()
        }
        state.withLock { _ = $0.waiting.removeValue(forKey: waiter) }
    }
}

extension InMemoryLogEngine.State {
    fileprivate mutating func perform(on number: Int, _ operation: @escaping InMemoryLogServer.Operation) {
        servers[number].perform(operation)
        if case .immediate = replication { servers[number].send() }
    }

    /// Stops a server.
    ///
    /// - Returns: the readers that were waiting on it.
    fileprivate mutating func end(_ number: Int) -> [AsyncStream<Void>.Continuation] {
        servers[number].isAlive = false
        servers[number].data = LogData()
        servers[number].replica = nil
        servers[number].unsent = []
        return takeWaiting(number)
    }

    fileprivate mutating func takeWaiting(_ number: Int) -> [AsyncStream<Void>.Continuation] {
        let numbers = waiting.filter { $0.value.server == number }.keys.sorted()
        return numbers.compactMap { waiting.removeValue(forKey: $0)?.signal }
    }
}
