import HTTPCacheSemantics
public import Logging
import Synchronization

/// Switches an engine's mode for a time, and back when that is over.
///
/// The store keeps the mode and its end, so that both outlast the process: a crash in an outage
/// must not bring a gateway back that asks for what its operator had forbidden.
///
/// ```swift
/// let modes = ModeSwitch(engine: engine, store: store, logger: logger)
/// await modes.restore()
/// try await modes.begin(TemporaryMode(.offline, until: end, since: now, client: "uid 1000"))
/// ```
public actor ModeSwitch {
    private let engine: CacheEngine
    private let store: any ModeStore
    private let clock: any WallClock
    private let sleeper: any Clock<Duration>
    private let logger: Logger
    /// Changed only together with the engine's mode, so that both always agree.
    private nonisolated let current: Mutex<ModeState>
    /// Waits for the end of the temporary mode.
    private var timer: Task<Void, Never>?

    /// The longest pause until the wall clock is read again: it may be set while the timer sleeps.
    private static let longestPause = Duration.seconds(30)

    /// The engine's mode is the configured one.
    ///
    /// - Parameters:
    ///   - store: keeps the mode and its end.
    ///   - clock: decides whether the end has come.
    ///   - sleeper: the clock for the pause until then.
    public init(
        engine: CacheEngine,
        store: any ModeStore,
        clock: any WallClock = SystemWallClock(),
        sleeper: any Clock<Duration> = ContinuousClock(),
        logger: Logger
    ) {
        self.engine = engine
        self.store = store
        self.clock = clock
        self.sleeper = sleeper
        self.logger = logger
        current = Mutex(ModeState(configured: engine.mode))
    }

    deinit { timer?.cancel() }

    /// The mode in force, and where it comes from.
    public nonisolated var state: ModeState { current.withLock { $0 } }

    /// Sets the configured mode. It comes into force when the temporary mode ends, or at once if
    /// there is none.
    public nonisolated func configure(_ mode: OfflineMode) { apply { $0.configured = mode } }

    /// Puts the mode into force that an earlier process left behind, if it is not over.
    public func restore() {
        do {
            guard let kept = try store.temporaryMode() else { return }
            guard !kept.isOver(at: clock.now()) else { return try store.keep(nil) }
            begin(inForce: kept)
        } catch {
            logger.warning(
                "The mode that was set for a time cannot be read; the configured mode is in force",
                metadata: ["error": "\(error)"]
            )
        }
    }

    /// Puts a mode into force for a time. It is kept durably, and in force for every request that
    /// arrives from now on, when this returns.
    ///
    /// - Throws: the store's error if it cannot keep the mode. Then nothing has changed.
    public func begin(_ mode: TemporaryMode) throws {
        try store.keep(mode)
        begin(inForce: mode)
    }

    /// Puts the configured mode into force again, if another one was set for a time.
    ///
    /// - Parameter client: who asked for it, for the log.
    /// - Throws: the store's error. Then nothing has changed: a restart would bring the mode back.
    public func end(by client: String) throws {
        guard state.temporary != nil else { return }
        try store.keep(nil)
        stopTimer()
        apply { $0.temporary = nil }
        logger.notice(
            "The configured mode is in force again",
            metadata: ["mode": "\(state.mode)", "control.client": "\(client)"]
        )
    }

    private func begin(inForce mode: TemporaryMode) {
        stopTimer()
        apply { $0.temporary = mode }
        logger.notice(
            "A mode is in force for a time",
            metadata: [
                "mode": "\(mode.mode)", "mode.until": "\(mode.until.milliseconds)",
                "mode.reason": "\(mode.reason ?? "")", "control.client": "\(mode.client)",
            ]
        )
        let sleeper = sleeper
        // It belongs to the switch, not to the request that set the mode.
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
        logger.notice("The configured mode is in force again", metadata: ["mode": "\(state.mode)"])
        do {
            try store.keep(nil)
        } catch {
            // It does no harm: a mode that is over is not restored.
            logger.warning("The mode that has ended stays in the store", metadata: ["error": "\(error)"])
        }
        return nil
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }

    private nonisolated func apply(_ change: (inout ModeState) -> Void) {
        current.withLock { state in
            change(&state)
            if engine.mode != state.mode { engine.mode = state.mode }
        }
    }
}
