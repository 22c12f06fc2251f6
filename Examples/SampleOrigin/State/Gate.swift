import Synchronization

/// A gate at which requests wait until a test opens it. Tests use gates to order concurrent events
/// without sleeping.
///
/// ```swift
/// let gate = Gate()
/// origin.force(.hold(gate), path: "/moments")
/// async let first = fetch("/moments")
/// await gate.waitForArrivals(1)   // the origin has the request and sent no response
/// gate.open()
/// ```
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
        var nextID = 0
        var parked: [Int: CheckedContinuation<Void, any Error>] = [:]
        var observers: [Int: Observer] = [:]
    }

    private struct Observer {
        let arrivals: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private let state = Mutex(State())

    /// Creates a closed gate.
    public init() {}

    /// The number of requests that have reached the gate, including requests that have passed it or
    /// given up.
    public var arrivals: Int { state.withLock { $0.arrivals } }

    /// Opens the gate for waiting and later requests.
    public func open() {
        let parked = state.withLock { state in
            state.isOpen = true
            defer { state.parked.removeAll() }
            return state.parked.values.map { $0 }
        }
        for continuation in parked {
            continuation.resume()
        }
    }

    /// Waits until at least `count` requests have reached the gate, or the task is canceled.
    public func waitForArrivals(_ count: Int) async {
        let id = nextID()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    guard state.arrivals < count, !Task.isCancelled else { return true }
                    state.observers[id] = Observer(arrivals: count, continuation: continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.observers.removeValue(forKey: id) }?.continuation.resume()
        }
    }

    /// Waits until the gate is open. Throws `CancellationError` if the task is canceled.
    func pass() async throws {
        let id = nextID()
        for observer in arrive() {
            observer.resume()
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if state.isOpen { return .success(()) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.parked[id] = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            state.withLock { $0.parked.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    private func nextID() -> Int {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    private func arrive() -> [CheckedContinuation<Void, Never>] {
        state.withLock { state in
            state.arrivals += 1
            let arrivals = state.arrivals
            let satisfied = state.observers.filter { $0.value.arrivals <= arrivals }
            for id in satisfied.keys { state.observers.removeValue(forKey: id) }
            return satisfied.values.map(\.continuation)
        }
    }
}
