import Synchronization

/// Limits the memory for stored content of responses in progress. Each response needs one permit,
/// for one chunk of its content. A client that stops reading keeps its response's permit, but uses
/// no more memory.
///
/// A response waits if no permit is free. Clients share the permits in the same way as an origin's
/// permits: a single client never gets the last quarter. docs/decisions/0025
package final class ContentPermits: Sendable {
    /// The memory for one permit: 64 KiB, the size of a chunk in the store.
    package static let permitLength = 64 << 10

    private struct State {
        var permits = OriginPermits()
        var limit: Int
        var waiting: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var nextWaiter: UInt64 = 0
        /// The peak number of permits in use since ``takePeak()`` was last called.
        var peak = 0

        /// Takes a permit if one is free for the client.
        mutating func enterIfFree(_ client: RequestClient) -> Bool {
            let isEntered = permits.enterIfFree(client, limit: limit)
            peak = max(peak, permits.count)
            return isEntered
        }
    }

    private let state: Mutex<State>

    /// - Parameter bytes: the memory for all permits combined.
    package init(bytes: Int) { state = Mutex(State(limit: Self.limit(bytes))) }

    private static func limit(_ bytes: Int) -> Int { max(1, bytes / permitLength) }

    /// The number of permits in use.
    package var count: Int { state.withLock { $0.permits.count } }

    /// The number of responses waiting for a permit.
    package var waitingCount: Int { state.withLock { $0.permits.waitingCount } }

    /// Returns the peak number of permits in use since the last call.
    package func takePeak() -> Int {
        state.withLock { state in
            defer { state.peak = state.permits.count }
            return state.peak
        }
    }

    /// Changes the memory for all permits. If it grows, waiting responses continue immediately.
    func reconfigure(bytes: Int) {
        let admitted = state.withLock { state in
            state.limit = Self.limit(bytes)
            return state.permits.admit(limit: state.limit).compactMap { state.waiting.removeValue(forKey: $0) }
        }
        for waiter in admitted { waiter.resume(returning: true) }
    }

    /// Takes a permit, or waits if the client may not have one now.
    ///
    /// - Returns: `nil` if the task was canceled.
    package func enter(_ client: RequestClient) async -> Permit? {
        if state.withLock({ $0.enterIfFree(client) }) { return Permit(self, client) }
        let id = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        let isEntered = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isEntered: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    switch state.permits.enter(id, client, limit: state.limit, waitingLimit: .max) {
                    case .entered: return true
                    case .full: return false
                    case .waits:
                        state.waiting[id] = continuation
                        return nil
                    }
                }
                if let isEntered { continuation.resume(returning: isEntered) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.permits.giveUp(id) ? $0.waiting.removeValue(forKey: id) : nil }
            waiter?.resume(returning: false)
        }
        return isEntered ? Permit(self, client) : nil
    }

    private func leave(_ client: RequestClient) {
        let admitted = state.withLock { state in
            state.permits.leave(client, limit: state.limit).compactMap { state.waiting.removeValue(forKey: $0) }
        }
        for waiter in admitted { waiter.resume(returning: true) }
    }

    /// A permit. It is returned when the last reference to it is released.
    package final class Permit: Sendable {
        fileprivate let permits: ContentPermits
        fileprivate let client: RequestClient

        fileprivate init(_ permits: ContentPermits, _ client: RequestClient) {
            self.permits = permits
            self.client = client
        }

        deinit { permits.leave(client) }
    }
}

/// A reader's use of the permits. It returns its permit between two chunks, so that readers
/// alternate.
struct ContentTurn: Sendable {
    private let permits: ContentPermits
    private let client: RequestClient
    private var permit: ContentPermits.Permit?

    init(_ permit: ContentPermits.Permit) {
        permits = permit.permits
        client = permit.client
        self.permit = permit
    }

    /// A value for another reader of the same client, without a permit.
    var another: ContentTurn {
        var turn = self
        turn.permit = nil
        return turn
    }

    /// Returns the permit, because its chunk has been sent, and waits for the next permit.
    ///
    /// - Throws: `CancellationError`
    mutating func next() async throws {
        permit = nil
        permit = await permits.enter(client)
        if permit == nil { throw CancellationError() }
    }

    /// Returns the permit.
    mutating func end() { permit = nil }
}
