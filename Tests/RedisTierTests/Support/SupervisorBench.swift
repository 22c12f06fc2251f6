import HoldfastTesting
import NIOCore
import RedisTier
import Synchronization

/// A supervisor with a scripted server and a clock that stands still.
final class SupervisorBench: Sendable {
    let clock = ManualDurationClock()
    let server = ScriptedServer()
    let supervisor: ConnectionSupervisor
    private let states = Observed<[SupervisorState]>([])

    init() {
        supervisor = ConnectionSupervisor(
            clock: clock,
            random: { 1 },
            onChange: { [states] state in
                states.change { $0.append(state) }
            }
        ) { [server] () throws(RedisTierError) in
            try server.connect()
        }
    }

    /// A bench whose supervisor runs during the second body.
    static func with(
        _ prepare: (SupervisorBench) async throws -> Void,
        running body: (SupervisorBench) async throws -> Void
    ) async throws {
        let bench = SupervisorBench()
        try await prepare(bench)
        let task = Task { await bench.supervisor.run() }
        defer { task.cancel() }
        try await body(bench)
    }

    /// Waits until the state is this one, or the task is cancelled.
    func reaches(_ state: SupervisorState) async {
        await states.wait { $0.last == state }
    }

    /// Waits until the supervisor pauses, or the state is this one, which must not be.
    func pausesOrReaches(_ state: SupervisorState) async {
        await withTaskGroup { group in
            group.addTask { await self.clock.sleepers(atLeast: 1) }
            group.addTask { await self.reaches(state) }
            await group.next()
            group.cancelAll()
        }
    }

    /// The code of the error of a command; `nil` if it had a reply.
    func get() async -> RedisTierError.Code? {
        await errorCode { () throws(RedisTierError) in
            _ = try await supervisor.execute(RedisCommand("GET"), within: .seconds(1))
        }
    }
}

/// A server without sockets.
final class ScriptedServer: Sendable {
    enum Behavior {
        case replying, rejecting
        /// Each command times out at once.
        case silent
        case refusing
    }

    private struct State {
        var behavior = Behavior.replying
        var attempts = 0
        var commands: [String] = []
        var closing: (@Sendable (RedisTierError) -> Void)?
        var isClosed = false
    }

    private let state = Observed(State())

    var commands: [String] { state.value.commands }
    var isClosed: Bool { state.value.isClosed }

    func set(_ behavior: Behavior) { state.change { $0.behavior = behavior } }
    func attempts(atLeast count: Int) async { await state.wait { $0.attempts >= count } }
    func commands(atLeast count: Int) async { await state.wait { $0.commands.count >= count } }

    func connect() throws(RedisTierError) -> any RedisLink {
        let behavior = state.change { state in
            state.attempts += 1
            return state.behavior
        }
        if behavior == .refusing { throw RedisTierError(.unreachable, "refused") }
        return Link(server: self)
    }

    /// Ends the connection.
    func hangUp() {
        let closing = state.change { $0.closing.take() }
        closing?(RedisTierError(.closed, "hung up"))
    }

    private struct Link: RedisLink {
        let server: ScriptedServer

        func send(
            _ command: RedisCommand,
            within time: TimeAmount,
            completion: @escaping ReplyCallback
        ) throws(RedisTierError) {
            let behavior = server.state.change { state in
                state.commands.append("\(command)")
                return state.behavior
            }
            switch behavior {
            case .replying: completion(.success(.simple("PONG")))
            case .rejecting: completion(.success(.failed("LOADING Redis is loading the dataset in memory")))
            case .silent, .refusing: completion(.failure(RedisTierError(.timedOut, "silent")))
            }
        }

        func whenClosed(_ action: @escaping @Sendable (RedisTierError) -> Void) {
            server.state.change { $0.closing = action }
        }

        func close() {
            server.state.change { $0.isClosed = true }
        }
    }
}

/// A value that tasks wait for.
final class Observed<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var waiting: [Int: (isReached: @Sendable (Value) -> Bool, continuation: CheckedContinuation<Void, Never>)] = [:]
        var next = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    var value: Value { state.withLock { $0.value } }

    @discardableResult
    func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, reached) = state.withLock { state in
            let result = body(&state.value)
            let value = state.value
            let reached = state.waiting.filter { $0.value.isReached(value) }
            for number in reached.keys { state.waiting[number] = nil }
            return (result, reached)
        }
        for waiter in reached.values { waiter.continuation.resume() }
        return result
    }

    /// Returns when the value is as expected, or the task is cancelled.
    func wait(until isReached: @escaping @Sendable (Value) -> Bool) async {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    // Under the lock, which the handler takes too.
                    if Task.isCancelled || isReached(state.value) { return true }
                    state.waiting[number] = (isReached, continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.continuation.resume()
        }
    }
}
