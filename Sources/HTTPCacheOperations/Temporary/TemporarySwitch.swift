package import HTTPCache
import HTTPCacheSemantics
package import Logging
import Synchronization

/// Changes one setting of an engine temporarily, and restores it afterwards.
///
/// The store keeps the value and its expiry, so both survive a restart. After a crash during an
/// outage, a gateway must not start to send requests that its operator has forbidden.
///
/// ```swift
/// let modes = ModeSwitch(engine: engine, store: store, logger: logger)
/// await modes.restore()
/// try await modes.begin(TemporaryMode(.offline, until: end, since: now, client: "uid 1000"))
/// ```
package actor TemporarySwitch<Value: TemporaryValue> {
    private let engine: CacheEngine
    private let store: any TemporaryStore
    private let clock: any WallClock
    private let sleeper: any Clock<Duration>
    private let logger: Logger
    /// The state changes only together with the engine's value, so that both always agree.
    private nonisolated let current: Mutex<TemporaryState<Value>>
    /// Waits for the temporary value to expire.
    private var timer: Task<Void, Never>?

    /// The maximum pause until the wall clock is read again, because the clock may be set while the
    /// timer sleeps.
    private static var longestPause: Duration { .seconds(30) }

    /// Creates a switch. At first, the configured value applies.
    ///
    /// - Parameters:
    ///   - store: keeps the value and its expiry.
    ///   - clock: decides whether the value has expired.
    ///   - sleeper: the clock for the pause until the expiry.
    package init(
        engine: CacheEngine,
        store: any TemporaryStore,
        clock: any WallClock = SystemWallClock(),
        sleeper: any Clock<Duration> = ContinuousClock(),
        logger: Logger
    ) {
        self.engine = engine
        self.store = store
        self.clock = clock
        self.sleeper = sleeper
        self.logger = logger
        current = Mutex(TemporaryState(configured: Value.configured(for: engine)))
    }

    deinit { timer?.cancel() }

    /// The value in force and its source.
    package nonisolated var state: TemporaryState<Value> { current.withLock { $0 } }

    /// Sets the configured value. It applies when the temporary value expires, or immediately if
    /// there is none.
    package nonisolated func configure(_ value: Value) { apply { $0.configured = value } }

    /// Applies the value that an earlier process left behind, unless it has expired.
    package func restore() {
        do {
            guard let kept = try store.temporary(Value.self) else { return }
            guard !kept.isOver(at: clock.now()) else { return try store.forget(Value.self) }
            begin(inForce: kept)
        } catch {
            logger.warning(
                "The temporary \(Value.settingName) cannot be read; using the configured value",
                metadata: ["error": "\(error)"]
            )
        }
    }

    /// Applies a value temporarily. When this returns, the value is stored durably and applies to
    /// every request that arrives from now on.
    ///
    /// - Throws: the store's error if it cannot keep the value. In that case, nothing has changed.
    package func begin(_ temporary: Temporary<Value>) throws {
        try store.keep(temporary)
        begin(inForce: temporary)
    }

    /// Restores the configured value, if a temporary value is set.
    ///
    /// - Parameter client: the client that requested the change, for the log.
    /// - Throws: the store's error. In that case, nothing has changed, because a restart would
    ///   bring the value back.
    package func end(by client: String) throws {
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
        var metadata: Logger.Metadata = [
            name: "\(temporary.value.logged)", "\(name).until": "\(temporary.until.rfc3339)",
            "control.client": "\(temporary.client)",
        ]
        metadata["\(name).reason"] = temporary.reason.map { "\($0)" }
        logger.notice("A temporary \(name) is in force", metadata: metadata)
        let sleeper = sleeper
        // The timer belongs to the switch, not to the request that set the value.
        timer = Task { [weak self] in
            while let pause = await self?.pauseUntilEnd() {
                guard (try? await sleeper.sleep(for: pause)) != nil else { return }
            }
        }
    }

    /// Returns the time until the clock must be read again; `nil` if there is nothing to wait for.
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
            // The failure is harmless, because an expired value is not restored.
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
            if state.value != before { state.value.apply(to: engine) }
        }
    }
}
