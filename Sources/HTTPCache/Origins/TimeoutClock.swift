import Synchronization

/// A clock for timeouts, which are begun often and hardly ever run out.
///
/// The standard library's clocks keep what a cancelled sleep took (some 700 bytes) until the sleep
/// would have been over: with a timeout of a minute around each of 5,000 requests a second that is
/// 200 MB. Here a cancelled sleep leaves nothing, and all sleeps share one of the clock below.
public final class TimeoutClock<Base: Clock>: Clock where Base.Duration == Duration {
    /// One of the clock below.
    public typealias Instant = Base.Instant

    private struct State {
        var sleeping: [UInt64: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var nextNumber: UInt64 = 0
        /// When somebody looks next who is to be woken; `nil` where nobody sleeps.
        var alarm: Instant?
    }

    /// An alarm that an earlier one has overtaken sleeps on: this long at most.
    private static var longestAlarm: Duration { .seconds(1) }

    private let base: Base
    private let state = Mutex(State())

    /// - Parameter base: what tells the time.
    public init(_ base: Base) {
        self.base = base
    }

    /// See `Clock`.
    public var now: Instant { base.now }

    /// See `Clock`.
    public var minimumResolution: Duration { base.minimumResolution }

    /// How many tasks sleep on it now.
    package var sleeperCount: Int { state.withLock { $0.sleeping.count } }

    /// Suspends until the deadline; the tolerance changes nothing.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    // Under the lock, which the handler takes too: either it is seen here, or the
                    // handler finds the sleeper.
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

    /// Sees to it that somebody looks at the deadline, or earlier.
    private func schedule(_ deadline: Instant, _ state: inout State) {
        let time = min(deadline, base.now.advanced(by: Self.longestAlarm))
        if let alarm = state.alarm, alarm <= time { return }
        state.alarm = time
        // Detached, so that it keeps none of the task-local values of whoever happened to be first.
        // It ends by itself.
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
            // One that was overtaken leaves the next one alone.
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
    /// By the machine's own time, which goes on while it sleeps.
    public convenience init() {
        self.init(ContinuousClock())
    }
}
