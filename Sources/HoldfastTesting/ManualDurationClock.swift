import Synchronization

/// A clock for timeouts and pauses that stands still until a test moves it. Moving it wakes the
/// tasks that are due.
///
/// It starts at zero. Use ``ManualClock`` for dates and this clock for durations.
///
/// ```swift
/// let clock = ManualDurationClock()
/// async let response = engine.exchange(request)  // its timeout sleeps on `clock`
/// await clock.sleepers(atLeast: 1)
/// clock.advance(by: .seconds(30))
/// ```
public final class ManualDurationClock: Clock {
    /// A point in time on the clock, measured from its creation.
    public struct Instant: InstantProtocol {
        /// The time since the clock's creation.
        public var offset: Duration
        /// Creates the instant at this offset from the clock's creation.
        public init(_ offset: Duration) { self.offset = offset }
        /// See `InstantProtocol`.
        public func advanced(by duration: Duration) -> Instant { Instant(offset + duration) }
        /// See `InstantProtocol`.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Returns whether the first instant is earlier.
        public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private struct State {
        var now = Instant(.zero)
        var next = 0
        var sleeping: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var observers: [Int: (count: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
    }

    private let state = Mutex(State())

    /// Creates a clock at zero.
    public init() {}

    /// The current time.
    public var now: Instant { state.withLock { $0.now } }

    /// Zero: the clock is exact, because only ``advance(by:)`` wakes a task.
    public var minimumResolution: Duration { .zero }

    /// The number of tasks that are sleeping on the clock.
    public var sleeperCount: Int { state.withLock { $0.sleeping.count } }

    /// The instants at which the sleeping tasks wake, in ascending order.
    public var deadlines: [Instant] { state.withLock { $0.sleeping.values.map(\.deadline).sorted() } }

    /// Suspends the task until the clock reaches `deadline`. The tolerance has no effect.
    ///
    /// - Throws: `CancellationError` if the task is canceled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.withLock { state in
            defer { state.next += 1 }
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // A cancellation before this point is detected here; a later cancellation is
                // handled below.
                let result: Result<Void, any Error>?
                let observers: [CheckedContinuation<Void, Never>]
                (result, observers) = state.withLock { state in
                    if Task.isCancelled { return (.failure(CancellationError()), []) }
                    if deadline <= state.now { return (.success(()), []) }
                    state.sleeping[id] = (deadline, continuation)
                    let count = state.sleeping.count
                    let satisfied = state.observers.filter { $0.value.count <= count }
                    for id in satisfied.keys { state.observers[id] = nil }
                    return (nil, satisfied.values.map(\.continuation))
                }
                if let result { continuation.resume(with: result) }
                for observer in observers { observer.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleeping.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Moves the clock forward and wakes the tasks that are due, earliest deadline first.
    ///
    /// A woken task may sleep again. Before the next move, wait for it with ``sleepers(atLeast:)``.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "A clock for durations cannot go back.")
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleeping.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleeping[id] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
        }
        for sleeper in due { sleeper.value.continuation.resume() }
    }

    /// Waits until at least this many tasks are sleeping at the same time.
    ///
    /// Returns immediately if the waiting task is canceled.
    public func sleepers(atLeast count: Int) async {
        let id = state.withLock { state in
            defer { state.next += 1 }
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if Task.isCancelled || state.sleeping.count >= count { return true }
                    state.observers[id] = (count, continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.observers.removeValue(forKey: id) }?.continuation.resume()
        }
    }
}
