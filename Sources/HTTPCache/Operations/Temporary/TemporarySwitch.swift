import HTTPCacheSemantics
public import Logging
import Synchronization

/// Sets one setting of an engine for a time, and back when that is over.
///
/// The store keeps the value and its end, so that both outlast the process: a crash in an outage
/// must not bring a gateway back that asks for what its operator had forbidden.
///
/// ```swift
/// let modes = ModeSwitch(engine: engine, store: store, logger: logger)
/// await modes.restore()
/// try await modes.begin(TemporaryMode(.offline, until: end, since: now, client: "uid 1000"))
/// ```
public actor TemporarySwitch<Value: TemporaryValue> {
    private let store: any TemporaryStore
    private let clock: any WallClock
    private let sleeper: any Clock<Duration>
    private let logger: Logger
    private let set: @Sendable (Value) -> Void
    /// Changed only together with the engine's value, so that both always agree.
    private nonisolated let current: Mutex<TemporaryState<Value>>
    /// Waits for the end of the temporary value.
    private var timer: Task<Void, Never>?

    /// The longest pause until the wall clock is read again: it may be set while the timer sleeps.
    private static var longestPause: Duration { .seconds(30) }

    /// The value in force is the configured one.
    ///
    /// - Parameters:
    ///   - store: keeps the value and its end.
    ///   - clock: decides whether the end has come.
    ///   - sleeper: the clock for the pause until then.
    ///   - set: puts a value into force, for the next request.
    public init(
        configured: Value,
        store: any TemporaryStore,
        clock: any WallClock = SystemWallClock(),
        sleeper: any Clock<Duration> = ContinuousClock(),
        logger: Logger,
        set: @escaping @Sendable (Value) -> Void
    ) {
        self.store = store
        self.clock = clock
        self.sleeper = sleeper
        self.logger = logger
        self.set = set
        current = Mutex(TemporaryState(configured: configured))
    }

    deinit { timer?.cancel() }

    /// The value in force, and where it comes from.
    public nonisolated var state: TemporaryState<Value> { current.withLock { $0 } }

    /// Sets the configured value. It comes into force when the temporary one ends, or at once if
    /// there is none.
    public nonisolated func configure(_ value: Value) { apply { $0.configured = value } }

    /// Puts the value into force that an earlier process left behind, if it is not over.
    public func restore() {
        do {
            guard let kept = try store.temporary(Value.self) else { return }
            guard !kept.isOver(at: clock.now()) else { return try store.forget(Value.self) }
            begin(inForce: kept)
        } catch {
            logger.warning(
                "The temporary \(Value.settingName) cannot be read; using the configured one",
                metadata: ["error": "\(error)"]
            )
        }
    }

    /// Puts a value into force for a time. It is kept durably, and in force for every request that
    /// arrives from now on, when this returns.
    ///
    /// - Throws: the store's error if it cannot keep the value. Then nothing has changed.
    public func begin(_ temporary: Temporary<Value>) throws {
        try store.keep(temporary)
        begin(inForce: temporary)
    }

    /// Puts the configured value into force again, if another one was set for a time.
    ///
    /// - Parameter client: who asked for it, for the log.
    /// - Throws: the store's error. Then nothing has changed: a restart would bring the value back.
    public func end(by client: String) throws {
        guard state.temporary != nil else { return }
        try store.forget(Value.self)
        stopTimer()
        apply { $0.temporary = nil }
        logEnd(["control.client": "\(client)"])
    }

    private func begin(inForce temporary: Temporary<Value>) {
        stopTimer()
        apply { $0.temporary = temporary }
        let name = Value.settingName
        logger.notice(
            "A temporary \(name) is in force",
            metadata: [
                name: "\(temporary.value.logged)", "\(name).until": "\(temporary.until.milliseconds)",
                "\(name).reason": "\(temporary.reason ?? "")", "control.client": "\(temporary.client)",
            ]
        )
        let sleeper = sleeper
        // It belongs to the switch, not to the request that set the value.
        timer = Task { [weak self] in
            while let pause = await self?.pauseUntilEnd() {
                guard (try? await sleeper.sleep(for: pause)) != nil else { return }
            }
        }
    }

    /// Returns the pause until the clock must be read again; `nil` if there is nothing to wait for.
    private func pauseUntilEnd() -> Duration? {
        guard !Task.isCancelled, let temporary = state.temporary else { return nil }
        let now = clock.now()
        guard temporary.isOver(at: now) else {
            return min(.milliseconds(temporary.until.milliseconds(since: now)), Self.longestPause)
        }
        apply { $0.temporary = nil }
        logEnd([:])
        do {
            try store.forget(Value.self)
        } catch {
            // It does no harm: a value that is over is not restored.
            logger.warning(
                "The expired \(Value.settingName) could not be removed from the store",
                metadata: ["error": "\(error)"]
            )
        }
        return nil
    }

    private func logEnd(_ metadata: Logger.Metadata) {
        let own: Logger.Metadata = [Value.settingName: "\(state.value.logged)"]
        logger.notice(
            "The configured \(Value.settingName) is in force again",
            metadata: own.merging(metadata) { $1 }
        )
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }

    private nonisolated func apply(_ change: (inout TemporaryState<Value>) -> Void) {
        current.withLock { state in
            let before = state.value
            change(&state)
            if state.value != before { set(state.value) }
        }
    }
}
