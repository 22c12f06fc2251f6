import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// Shares one response among calls that make the same request at the same time, or shortly after
/// each other.
///
/// An exchange runs in its own task. Canceling a caller ends only that caller's wait; canceling
/// the last waiting caller ends the exchange.
final class RecentExchanges: Sendable {
    private typealias Waiter = CheckedContinuation<CacheResponse, any Error>

    private struct State {
        var recent: RecentResponses
        /// The waiting callers, by exchange and caller.
        var waiters: [Int: [Int: Waiter]] = [:]
        /// The exchange that each caller waits for.
        var exchanges: [Int: Int] = [:]
        var tasks: [Int: Task<Void, Never>] = [:]
        var nextCaller = 0
        /// Removes responses that are too old.
        var timer: Task<Void, Never>?
    }

    private let state: Mutex<State>
    private let isOff: Atomic<Bool>
    private let isIdle = Atomic(true)
    private let clock: any WallClock
    private let sleeper: any Clock<Duration>
    private let fencingNumber: @Sendable () -> InvalidationSequence

    /// - Parameters:
    ///   - bytes: the maximum number of bytes of content to keep; with 0, every call makes its own
    ///   request.
    ///   - fencingNumber: returns the number of the store's last invalidation.
    init(
        bytes: Int,
        clock: any WallClock,
        sleeper: any Clock<Duration>,
        fencingNumber: @escaping @Sendable () -> InvalidationSequence
    ) {
        state = Mutex(State(recent: RecentResponses(.init(bytes: bytes))))
        isOff = Atomic(bytes <= 0)
        self.clock = clock
        self.sleeper = sleeper
        self.fencingNumber = fencingNumber
    }

    deinit { state.withLock { $0.timer?.cancel() } }

    /// The number of kept responses.
    var keptCount: Int { state.withLock { $0.recent.count } }

    /// The number of waiting callers.
    var waitingCount: Int { state.withLock { $0.exchanges.count } }

    /// Returns a recent response, the response of an exchange in flight, or the response of a new
    /// exchange.
    ///
    /// - Parameter fetch: performs the exchange, and returns its response with the content in
    ///   memory.
    /// - Throws: the error of `fetch`, to all waiting callers; `CancellationError` if the caller is
    ///   canceled.
    func response(
        to identity: ExchangeIdentity,
        within window: Duration,
        _ fetch: @escaping @Sendable () async throws -> CacheResponse
    ) async throws -> CacheResponse {
        if isOff.load(ordering: .acquiring) { return try await fetch() }
        let caller = state.withLock { state in
            state.nextCaller += 1
            return state.nextCaller
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let result: Result<CacheResponse, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    let exchange: Int
                    switch state.recent.arrive(identity, within: window, at: clock.now(), fencingNumber()) {
                    case .reuses(let response): return .success(response)
                    case .joins(let number): exchange = number
                    case .leads(let number):
                        exchange = number
                        isIdle.store(false, ordering: .releasing)
                        state.tasks[number] = Task { await self.run(number, leader: caller, fetch) }
                    }
                    state.waiters[exchange, default: [:]][caller] = waiter
                    state.exchanges[caller] = exchange
                    return nil
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            leave(caller)
        }
    }

    private func leave(_ caller: Int) {
        let (waiter, task): (Waiter?, Task<Void, Never>?) = state.withLock { state in
            guard let exchange = state.exchanges.removeValue(forKey: caller) else { return (nil, nil) }
            let waiter = state.waiters[exchange]?.removeValue(forKey: caller)
            guard state.recent.leave(exchange) else { return (waiter, nil) }
            noteIdle(state)
            state.waiters[exchange] = nil
            return (waiter, state.tasks.removeValue(forKey: exchange))
        }
        task?.cancel()
        waiter?.resume(throwing: CancellationError())
    }

    private func run(_ exchange: Int, leader: Int, _ fetch: @Sendable () async throws -> CacheResponse) async {
        let result: Result<CacheResponse, any Error>
        do { result = .success(try await fetch()) } catch { result = .failure(error) }
        let (waiters, timer) = state.withLock { state in
            let isOff = isOff.load(ordering: .acquiring)
            let recent = isOff ? nil : (try? result.get()).flatMap { RecentResponse($0, at: clock.now()) }
            state.recent.finish(exchange, recent, fencingNumber())
            noteIdle(state)
            state.tasks[exchange] = nil
            let waiters = state.waiters.removeValue(forKey: exchange) ?? [:]
            for caller in waiters.keys { state.exchanges[caller] = nil }
            return (waiters, recent == nil ? nil : replaceTimer(&state))
        }
        timer?.cancel()
        for (caller, waiter) in waiters {
            waiter.resume(with: result.map { caller == leader ? $0 : $0.collapsed })
        }
    }

    /// Records that a request has a newer response, so that later calls do not get an older one.
    func supersede(_ request: @autoclosure () -> RequestIdentity) {
        change { $0.supersede(request()) }
    }

    /// Removes the kept response to a request, because it cannot be used.
    func forget(_ request: @autoclosure () -> RequestIdentity) {
        change { $0.forget(request()) }
    }

    private func change(_ body: (inout RecentResponses) -> Void) {
        guard !isIdle.load(ordering: .acquiring) else { return }
        state.withLock { state in
            body(&state.recent)
            noteIdle(state)
        }
    }

    private func noteIdle(_ state: State) {
        isIdle.store(state.recent.isEmpty, ordering: .releasing)
    }

    /// Removes all responses. From now on, each call makes its own request.
    func close() {
        isOff.store(true, ordering: .releasing)
        let timer = state.withLock { state in
            state.recent.forgetAll()
            noteIdle(state)
            defer { state.timer = nil }
            return state.timer
        }
        timer?.cancel()
    }

    /// Restarts the timer that removes old responses, because the newest response may expire first.
    ///
    /// - Returns: the previous timer.
    private func replaceTimer(_ state: inout State) -> Task<Void, Never>? {
        let before = state.timer
        state.timer = Task { [weak self, sleeper] in
            while let wait = self?.removeOld() {
                guard (try? await sleeper.sleep(for: wait)) != nil else { return }
            }
        }
        return before
    }

    private func removeOld() -> Duration? {
        state.withLock { state in
            let wait = state.recent.removeOld(at: clock.now())
            noteIdle(state)
            return wait
        }
    }
}

extension CacheResponse {
    /// The response, for a call that joined another call's exchange.
    fileprivate var collapsed: CacheResponse {
        var response = self
        if source == .network { response.outcome.isCollapsed = true }
        response.outcome.isStored = false
        return response
    }
}
