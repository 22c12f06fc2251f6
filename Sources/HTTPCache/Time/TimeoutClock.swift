import Synchronization

/// A clock for timeouts, which start often and rarely expire.
///
/// The standard library's clocks keep the memory of a canceled sleep (about 700 bytes) until its
/// deadline. With a timeout of a minute for each of 5,000 requests per second, that is 200 MB. This
/// clock releases the memory of a canceled sleep immediately, and all of its sleeps share one
/// sleep of the base clock.
public final class TimeoutClock<Base: Clock>: Clock where Base.Duration == Duration {
    /// An instant of the base clock.
    public typealias Instant = Base.Instant

    private struct State {
        var sleeping: [UInt64: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var nextNumber: UInt64 = 0
        /// The time of the next check for due sleepers; `nil` if there are no sleepers.
        var alarm: Instant?
    }

    /// The maximum time for which a replaced alarm keeps sleeping.
    private static var longestAlarm: Duration { .seconds(1) }

    private let base: Base
    private let state = Mutex(State())

    /// - Parameter base: the clock that provides the time.
    public init(_ base: Base) {
        self.base = base
    }

    /// See `Clock`.
    public var now: Instant { base.now }

    /// See `Clock`.
    public var minimumResolution: Duration { base.minimumResolution }

    /// The number of tasks that are currently sleeping on this clock.
    package var sleeperCount: Int { state.withLock { $0.sleeping.count } }

    /// Suspends until the deadline; the tolerance has no effect.
    ///
    /// - Throws: `CancellationError` if the task is canceled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    // Check under the lock, which the handler also takes. Either the cancellation
                    // is seen here, or the handler finds the sleeper.
                    guard !Task.isCancelled else { return true }
                    state.sleeping[number] = (deadline, continuation)
                    schedule(deadline, &state)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleeping.removeValue(forKey: number) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Schedules a check at the deadline, or earlier.
    private func schedule(_ deadline: Instant, _ state: inout State) {
        let time = min(deadline, base.now.advanced(by: Self.longestAlarm))
        if let alarm = state.alarm, alarm <= time { return }
        state.alarm = time
        // Use a detached task, so that it does not keep the first sleeper's task-local values. It
        // ends by itself.
        Task.detached { [self] in
            try? await base.sleep(until: time, tolerance: nil)
            ring(time)
        }
    }

    private func ring(_ time: Instant) {
        let due = state.withLock { state in
            let now = base.now
            let due = state.sleeping.filter { $0.value.deadline <= now }
            for number in due.keys { state.sleeping[number] = nil }
            // An alarm that was replaced does not affect the next one.
            if state.alarm == time {
                state.alarm = nil
                if let next = state.sleeping.values.map(\.deadline).min() { schedule(next, &state) }
            }
            return due
        }
        for sleeper in due.values { sleeper.continuation.resume() }
    }
}

extension TimeoutClock<ContinuousClock> {
    /// Creates a clock that uses the machine's continuous clock, which advances while the machine
    /// sleeps.
    public convenience init() {
        self.init(ContinuousClock())
    }
}
