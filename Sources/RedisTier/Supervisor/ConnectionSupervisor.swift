package import NIOCore
import Synchronization

/// Keeps one connection to a server. It reconnects after a loss, and sends no commands to a server
/// that does not reply.
///
/// It works only while ``run()`` runs. ``state`` is a single atomic value, so reading it is nearly
/// free.
package final class ConnectionSupervisor: Sendable {
    private struct Shared {
        var machine: SupervisorMachine
        /// The connection and its number. The number identifies late events of a previous
        /// connection, which are ignored.
        var link: (any RedisLink)?
        var number = 0
    }

    /// The clock and the randomness, which tests replace.
    private struct Surroundings: Sendable {
        let now: @Sendable () -> Duration
        let sleepUntil: @Sendable (Duration) async throws -> Void
        let random: @Sendable () -> Double
    }

    private let policy: SupervisorPolicy
    private let connect: @Sendable () async throws(RedisTierError) -> any RedisLink
    private let surroundings: Surroundings
    private let onChange: @Sendable (SupervisorState) -> Void
    private let shared: Mutex<Shared>
    private let current = Atomic(SupervisorState.unreachable)
    /// Whether the machine has recorded a reply since the last failure. Further replies need not be
    /// recorded.
    private let isGood = Atomic(false)
    private let bell = Bell()

    /// - Parameters:
    ///   - clock: the clock.
    ///   - random: returns numbers from 0 to 1, for jitter.
    ///   - onChange: called with each new state. It must return immediately and must not call the
    ///     supervisor.
    ///   - connect: opens a connection.
    package init<C: Clock>(
        policy: SupervisorPolicy = SupervisorPolicy(),
        clock: C,
        random: @escaping @Sendable () -> Double,
        onChange: @escaping @Sendable (SupervisorState) -> Void = { _ in },
        connect: @escaping @Sendable () async throws(RedisTierError) -> any RedisLink
    ) where C.Duration == Duration {
        let start = clock.now
        self.policy = policy
        self.connect = connect
        self.onChange = onChange
        surroundings = Surroundings(
            now: { start.duration(to: clock.now) },
            sleepUntil: { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) },
            random: random
        )
        shared = Mutex(Shared(machine: SupervisorMachine(policy)))
    }

    /// The current state, which says whether commands are sent.
    package var state: SupervisorState { current.load(ordering: .acquiring) }

    /// Connects and probes until its task is canceled. Call it once.
    package func run() async {
        while true {
            let now = surroundings.now()
            let step = change { shared in
                if Task.isCancelled { shared.machine.end() }
                return shared.machine.nextStep(at: now)
            }
            switch step {
            case .connect: await makeConnection()
            case .probe: await probe()
            case .wait(let time): await wait(until: time)
            case .waitForEvent: await bell.wait()
            case .end: return change { $0.link.take() }?.close() ?? ()
            }
        }
    }

    // MARK: Commands

    /// Submits a command from any thread: see ``RedisLink/send(_:within:completion:)``.
    ///
    /// - Throws: the errors of that method, and ``RedisTierError/Code/unavailable`` immediately if
    ///   ``state`` is not ``SupervisorState/ready``.
    package func send(
        _ command: RedisCommand,
        within time: TimeAmount,
        completion: @escaping ReplyCallback
    ) throws(RedisTierError) {
        guard state == .ready else { throw .unavailable }
        let (link, number) = shared.withLock { ($0.link, $0.number) }
        guard let link else { throw .unavailable }
        try link.send(command, within: time) { result in
            self.observe(result, number)
            completion(result)
        }
    }

    /// Executes a command and waits for its reply. An error reply is returned as a value, not
    /// thrown.
    ///
    /// - Throws: see ``send(_:within:completion:)`` and ``RedisLink/execute(_:within:)``.
    package func execute(_ command: RedisCommand, within time: TimeAmount) async throws(RedisTierError) -> RESPValue {
        try await PendingReply.wait { completion throws(RedisTierError) in
            try send(command, within: time, completion: completion)
        }
    }

    /// Executes commands in order on one connection, and waits for the last reply. An error reply
    /// is returned as a value, and the commands after it are still executed.
    ///
    /// - Throws: see ``execute(_:within:)``.
    package func execute(
        _ commands: [RedisCommand],
        within time: TimeAmount
    ) async throws(RedisTierError) -> [RESPValue] {
        guard state == .ready else { throw .unavailable }
        let (link, number) = shared.withLock { ($0.link, $0.number) }
        guard let link else { throw .unavailable }
        let replies = ReplyList(count: commands.count)
        _ = try await PendingReply.wait { completion throws(RedisTierError) in
            for command in commands {
                try link.send(command, within: time) { result in
                    self.observe(result, number)
                    switch result {
                    case .success(let reply): if replies.append(reply) { completion(result) }
                    case .failure: completion(result)
                    }
                }
            }
        }
        return replies.all
    }

    /// Ends the connection and opens a new one.
    package func reconnect() { shared.withLock { $0.link }?.close() }

    private func observe(_ result: Result<RESPValue, RedisTierError>, _ number: Int) {
        switch result {
        case .success:
            guard !isGood.load(ordering: .relaxed) else { return }
            change(number) { machine in
                isGood.store(true, ordering: .relaxed)
                machine.replied()
            }
        case .failure(let error) where error.code == .timedOut:
            let (now, jitter) = (surroundings.now(), surroundings.random())
            change(number) { machine in
                isGood.store(false, ordering: .relaxed)
                machine.timedOut(at: now, jitter: jitter)
            }
            bell.ring()
        // A lost connection counts as one failure, no matter how many commands were in flight.
        case .failure: break
        }
    }

    // MARK: Steps

    private func makeConnection() async {
        do throws(RedisTierError) {
            let link = try await connect()
            let now = surroundings.now()
            let number = change { shared in
                isGood.store(false, ordering: .relaxed)
                shared.link = link
                shared.number += 1
                shared.machine.connected(at: now)
                return shared.number
            }
            link.whenClosed { [weak self] _ in self?.lose(number) }
        } catch {
            let (now, jitter) = (surroundings.now(), surroundings.random())
            change { $0.machine.failedToConnect(at: now, jitter: jitter) }
        }
    }

    private func lose(_ number: Int) {
        let (now, jitter) = (surroundings.now(), surroundings.random())
        change { shared in
            guard shared.number == number else { return }
            isGood.store(false, ordering: .relaxed)
            shared.link = nil
            shared.machine.lostConnection(at: now, jitter: jitter)
        }
        bell.ring()
    }

    private func probe() async {
        let (link, number) = shared.withLock { ($0.link, $0.number) }
        var isAlive = false
        if let link {
            let reply = try? await link.execute(RedisCommand("PING"), within: TimeAmount(policy.probeTime))
            isAlive = reply?.text == "PONG"
        }
        let (now, jitter) = (surroundings.now(), surroundings.random())
        change(number) { machine in
            if isAlive { machine.probeSucceeded() } else { machine.probeFailed(at: now, jitter: jitter) }
        }
    }

    private func wait(until time: Duration) async {
        await withTaskGroup { group in
            group.addTask { try? await self.surroundings.sleepUntil(time) }
            group.addTask { await self.bell.wait() }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: Changes

    /// Changes the shared state, and publishes the new state before the next change.
    @discardableResult
    private func change<Value>(_ body: (inout Shared) -> sending Value) -> sending Value {
        shared.withLock { shared in
            let value = body(&shared)
            let state = shared.machine.state
            if current.exchange(state, ordering: .acquiringAndReleasing) != state { onChange(state) }
            return value
        }
    }

    /// Changes the machine, unless the event belongs to a previous connection.
    private func change(_ number: Int, _ body: (inout SupervisorMachine) -> Void) {
        change { shared in
            if shared.number == number { body(&shared.machine) }
        }
    }
}

/// The replies to several commands.
private final class ReplyList: Sendable {
    private let count: Int
    private let state = Mutex<[RESPValue]>([])

    init(count: Int) { self.count = count }

    var all: [RESPValue] { state.withLock { $0 } }

    /// - Returns: whether all replies have arrived.
    func append(_ reply: RESPValue) -> Bool {
        state.withLock { state in
            state.append(reply)
            return state.count == count
        }
    }
}

extension RedisTierError {
    fileprivate static let unavailable = RedisTierError(
        .unavailable,
        "The server is unreachable or does not reply, so the command was not sent."
    )
}
