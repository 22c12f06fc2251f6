import FleetTier
import NIOCore

/// The two connections to one server: one for values and leases, and one for chunks, so that a long
/// body never delays a small reply.
final class ValuesNode: Sendable {
    let small: ConnectionSupervisor
    let large: ConnectionSupervisor
    private let turns: ChunkQueue
    /// Latches that open after the first connection attempts.
    private let tried: (small: Latch, large: Latch)
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameters:
    ///   - waitsForFirst: whether calls wait for the first connection attempt. A call triggers the
    ///     attempt.
    ///   - onChange: called with each new state of the connection for values.
    init<C: Clock>(
        _ connector: RedisConnector,
        waitsForFirst: Bool,
        policy: SupervisorPolicy,
        clock: C,
        random: @escaping @Sendable () -> Double,
        onChange: @escaping @Sendable (SupervisorState) -> Void,
        onFailure: @escaping @Sendable (RedisTierError) -> Void
    ) where C.Duration == Duration {
        turns = ChunkQueue(clock: clock)
        sleep = { try await clock.sleep(for: $0) }
        let tried = (small: Latch(), large: Latch())
        self.tried = tried
        func supervisor(_ tried: Latch, _ onChange: @escaping @Sendable (SupervisorState) -> Void)
            -> ConnectionSupervisor
        {
            if !waitsForFirst { tried.open() }
            return ConnectionSupervisor(
                policy: policy,
                clock: clock,
                random: random,
                onChange: {
                    tried.open()
                    onChange($0)
                }
            ) { () throws(RedisTierError) in
                do throws(RedisTierError) {
                    return try await connector.connect()
                } catch {
                    tried.open()
                    onFailure(error)
                    throw error
                }
            }
        }
        small = supervisor(tried.small, onChange)
        large = supervisor(tried.large) { _ in }
    }

    /// Maintains the connections until its task is canceled. Call it once.
    func run() async {
        await withTaskGroup { group in
            for supervisor in [small, large] { group.addTask { await supervisor.run() } }
        }
    }

    func reconnect() {
        for supervisor in [small, large] { supervisor.reconnect() }
    }

    /// Executes commands in order. Error replies are returned as values.
    ///
    /// - Parameter inTurn: whether the commands use the connection for chunks. They then wait until
    ///   no other commands are in flight there, because more concurrent chunks would delay the
    ///   small values of all nodes.
    func perform(
        _ commands: [RedisCommand],
        inTurn: Bool,
        within time: TimeAmount
    ) async throws(FleetLogError) -> [RESPValue] {
        let end = NIODeadline.now() + time
        let supervisor = inTurn ? large : small
        await waitForFirst(inTurn ? tried.large : tried.small, within: time)
        // Without a connection, there is nothing to wait for.
        guard supervisor.state == .ready else { throw Task.isCancelled ? .cancelled : .unreachable }
        if inTurn { try await turns.begin(within: .nanoseconds((end - .now()).nanoseconds)) }
        defer { if inTurn { turns.end() } }
        do throws(RedisTierError) {
            return try await supervisor.execute(commands, within: end - .now())
        } catch {
            throw FleetLogError(error)
        }
    }

    private func waitForFirst(_ tried: Latch, within time: TimeAmount) async {
        guard !tried.isOpen else { return }
        await withTaskGroup { group in
            group.addTask { await tried.wait() }
            group.addTask { [sleep] in try? await sleep(.nanoseconds(time.nanoseconds)) }
            await group.next()
            group.cancelAll()
        }
    }
}
