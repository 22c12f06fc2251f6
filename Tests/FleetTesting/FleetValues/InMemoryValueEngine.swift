package import FleetTier
package import NIOCore
import Synchronization

/// An in-memory engine for shared responses and leases, with the faults of a real engine. It uses
/// no randomness and no real clock.
package final class InMemoryValueEngine: Sendable {
    /// The engine's memory, which limits whether values and chunks are kept.
    package enum Memory: Sendable {
        /// Everything is kept for its lifetime.
        case large
        /// Nothing more can be put. Leases still work.
        case full
        /// Every value and chunk is evicted immediately. Leases still work.
        case evicting
    }

    fileprivate struct Entry {
        var bytes: ByteBuffer
        var end: EngineTime
    }

    fileprivate struct State {
        var entries: [ValueName: Entry] = [:]
        var memory = Memory.large
        var isReachable = true
        var delay = Duration.zero
        var callCount = 0
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> EngineTime
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameters:
    ///   - clock: the clock that measures the duration of calls.
    ///   - now: returns the engine's time.
    package init<C: Clock>(clock: C, now: @escaping @Sendable () -> EngineTime) where C.Duration == Duration {
        self.now = now
        sleep = { try await clock.sleep(for: $0) }
    }

    /// Connects another node.
    package func makeValues() -> InMemoryFleetValues { InMemoryFleetValues(engine: self) }

    // MARK: Faults

    package func setMemory(_ memory: Memory) { state.withLock { $0.memory = memory } }

    /// Sets whether the nodes can reach the engine.
    package func setReachable(_ isReachable: Bool) { state.withLock { $0.isReachable = isReachable } }

    /// Sets the time that each call takes. A call with a shorter deadline times out at its deadline
    /// and has no effect.
    package func setDelay(_ delay: Duration) { state.withLock { $0.delay = delay } }

    /// Removes all data, like `FLUSHALL`.
    package func flush() { state.withLock { $0.entries = [:] } }

    /// Evicts values by their names.
    package func evict(where isEvicted: (ValueName) -> Bool) {
        state.withLock { state in state.entries = state.entries.filter { !isEvicted($0.key) } }
    }

    /// Puts bytes under a name, as another program might.
    package func plant(_ bytes: ByteBuffer, as name: ValueName, for lifetime: Duration = .seconds(3600)) {
        let end = now().adding(lifetime)
        state.withLock { $0.entries[name] = Entry(bytes: bytes, end: end) }
    }

    // MARK: Content

    /// All stored data, as a reader of the engine's memory would see it.
    package var content: [ValueName: ByteBuffer] {
        let now = now()
        return state.withLock { $0.entries.filter { $0.value.end > now }.mapValues(\.bytes) }
    }

    /// The number of calls so far, including failed calls.
    package var callCount: Int { state.withLock { $0.callCount } }

    // MARK: Calls

    /// Runs a body as one atomic step, after the call's delay.
    func perform<Value>(
        within limit: Duration,
        _ body: (inout ValueTable) throws(FleetLogError) -> Value
    ) async throws(FleetLogError) -> Value {
        let (isReachable, delay) = state.withLock { state in
            state.callCount += 1
            return (state.isReachable, state.delay)
        }
        guard !Task.isCancelled else { throw .cancelled }
        guard isReachable else { throw .unreachable }
        if delay > .zero, (try? await sleep(min(delay, limit))) == nil { throw .cancelled }
        guard delay <= limit else { throw .timedOut }
        let now = now()
        return try state.withLock { state throws(FleetLogError) in
            guard state.isReachable else { throw .unreachable }
            var table = ValueTable(state: state, now: now)
            // A call that fails keeps the changes that it made before the failure.
            defer { state = table.state }
            return try body(&table)
        }
    }
}

/// The data of an engine at one instant.
struct ValueTable {
    fileprivate var state: InMemoryValueEngine.State
    let now: EngineTime

    fileprivate init(state: InMemoryValueEngine.State, now: EngineTime) {
        self.state = state
        self.now = now
    }

    /// The bytes under a name; `nil` after their lifetime has expired.
    subscript(name: ValueName) -> ByteBuffer? {
        state.entries[name].flatMap { $0.end > now ? $0.bytes : nil }
    }

    /// Puts a value or a chunk.
    mutating func put(_ bytes: ByteBuffer, as name: ValueName, for lifetime: Duration) throws(FleetLogError) {
        switch state.memory {
        case .full: throw .refused("OOM")
        case .evicting: state.entries[name] = nil
        case .large: write(bytes, as: name, for: lifetime)
        }
    }

    /// Writes a short value, for which there is always memory.
    mutating func write(_ bytes: ByteBuffer, as name: ValueName, for lifetime: Duration) {
        state.entries[name] = InMemoryValueEngine.Entry(bytes: bytes, end: now.adding(lifetime))
    }

    /// - Returns: whether the name existed.
    mutating func extend(_ name: ValueName, for lifetime: Duration) -> Bool {
        guard self[name] != nil else { return false }
        state.entries[name]?.end = now.adding(lifetime)
        return true
    }

    mutating func remove(_ name: ValueName) { state.entries[name] = nil }
}
