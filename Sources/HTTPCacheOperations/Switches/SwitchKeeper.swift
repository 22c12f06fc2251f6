package import HTTPCache
import HTTPCacheSemantics
package import Logging
import Synchronization

/// Keeps the switches of a running cache, applies them, and ends each of them on time.
///
/// Like the mode of the whole cache, switches survive a restart: the store keeps them until their
/// end.
package actor SwitchKeeper {
    /// The error for a switch beyond ``Switches/limit``.
    package struct Full: Error, Sendable {}

    private let store: any TemporaryStore
    private let clock: any WallClock
    private let sleeper: any Clock<Duration>
    private let logger: Logger
    private let apply: @Sendable (Switches) -> Void
    /// The switches change only together with what applies them, so that both always agree.
    private nonisolated let current = Mutex(Switches())
    /// Waits for the next end.
    private var timer: Task<Void, Never>?

    /// The maximum pause until the wall clock is read again, because the clock may be set while the
    /// timer sleeps.
    private static let longestPause = Duration.seconds(30)

    /// Creates a keeper without switches.
    ///
    /// - Parameters:
    ///   - store: keeps the switches and their ends.
    ///   - clock: decides whether a switch has ended.
    ///   - sleeper: the clock for the pause until the next end.
    ///   - apply: puts all of the given switches in force, and no others.
    package init(
        store: any TemporaryStore,
        clock: any WallClock = SystemWallClock(),
        sleeper: any Clock<Duration> = ContinuousClock(),
        logger: Logger,
        apply: @escaping @Sendable (Switches) -> Void
    ) {
        self.store = store
        self.clock = clock
        self.sleeper = sleeper
        self.logger = logger
        self.apply = apply
    }

    deinit { timer?.cancel() }

    /// The switches in force.
    package nonisolated var switches: Switches { current.withLock { $0 } }

    /// Applies the switches again after the parts that they name have changed.
    package nonisolated func reapply() { current.withLock { apply($0) } }

    /// Applies the switches that an earlier process left behind, except those that have ended.
    package func restore() {
        do {
            guard var kept = try store.temporary(Switches.self)?.value else { return }
            if !kept.expire(at: clock.now()).isEmpty { try keep(kept) }
            for one in kept.all { log("A switch is in force", one) }
            replace(with: kept)
        } catch {
            logger.warning("The switches cannot be read; none is in force", metadata: ["error": "\(error)"])
        }
    }

    /// Sets a switch. When this returns, it is stored durably and applies to every request that
    /// arrives from now on.
    ///
    /// - Throws: ``Full``; the store's error if it cannot keep the switch. In both cases, nothing
    ///   has changed.
    package func set(_ new: Switch) throws {
        var changed = switches
        guard changed.set(new) else { throw Full() }
        try keep(changed)
        replace(with: changed)
        log("A switch is in force", new)
    }

    /// Ends a switch.
    ///
    /// - Parameter client: the client that requested the change, for the log.
    /// - Returns: whether the switch was in force.
    /// - Throws: the store's error. In that case, nothing has changed, because a restart would
    ///   bring the switch back.
    package func end(_ subject: Switch.Subject, by client: String) throws -> Bool {
        var changed = switches
        guard var ended = changed.end(subject) else { return false }
        try keep(changed)
        replace(with: changed)
        ended.client = client
        log("A switch has ended", ended)
        return true
    }

    private func keep(_ switches: Switches) throws {
        guard let last = switches.lastEnd, let newest = switches.all.max(by: { $0.since < $1.since }) else {
            return try store.forget(Switches.self)
        }
        try store.keep(Temporary(switches, until: last, since: newest.since, client: newest.client))
    }

    private func replace(with switches: Switches) {
        timer?.cancel()
        current.withLock {
            $0 = switches
            apply(switches)
        }
        let sleeper = sleeper
        // The timer belongs to the keeper, not to the request that set the switch.
        timer = Task { [weak self] in
            while let pause = await self?.pauseUntilNextEnd() {
                guard (try? await sleeper.sleep(for: pause)) != nil else { return }
            }
        }
    }

    /// Ends the switches whose time is over.
    ///
    /// - Returns: the time until the clock must be read again; `nil` if there is nothing to wait
    ///   for.
    private func pauseUntilNextEnd() -> Duration? {
        guard !Task.isCancelled else { return nil }
        let now = clock.now()
        var left = switches
        let over = left.expire(at: now)
        if !over.isEmpty {
            current.withLock {
                $0 = left
                apply(left)
            }
            for one in over { log("A switch has ended", one) }
            do {
                try keep(left)
            } catch {
                // The failure is harmless, because a switch that has ended is not restored.
                logger.warning(
                    "The ended switches could not be removed from the store",
                    metadata: ["error": "\(error)"]
                )
            }
        }
        return left.nextEnd.map { min(.milliseconds($0.milliseconds(since: now)), Self.longestPause) }
    }

    private func log(_ message: Logger.Message, _ one: Switch) {
        var metadata: Logger.Metadata = [
            "switch": "\(one.subject)", "switch.value": "\(one.mode?.rawValue ?? "drained")",
            "switch.until": "\(one.until.rfc3339)", "control.client": "\(one.client)",
        ]
        metadata["switch.reason"] = one.reason.map { "\($0)" }
        logger.notice(message, metadata: metadata)
    }
}
