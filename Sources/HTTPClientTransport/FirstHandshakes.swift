import Synchronization

/// Limits concurrent TLS handshakes with an origin until it is known whether its requests can share
/// a connection.
///
/// The client opens one connection for each request until the first connection shows that the
/// origin supports HTTP/2. It then closes the other connections. Therefore, only a few requests are
/// passed to the client at first. The rest follow after the first connection, or when one of the
/// first requests fails.
final class FirstHandshakes: Sendable {
    fileprivate struct Origin {
        var trying = 0
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    }

    fileprivate struct State {
        var origins: [String: Origin] = [:]
        /// The origins to which a connection was opened.
        var known: Set<String> = []
        var next: UInt64 = 0
    }

    /// The maximum number of concurrent handshakes.
    static let limit = 8
    /// The maximum number of remembered origins. When it is exceeded, all origins are forgotten,
    /// which costs only a few extra handshakes.
    private static let memory = 4096

    private let state = Mutex(State())

    /// The number of waiting requests.
    var waitingCount: Int { state.withLock { $0.origins.values.reduce(0) { $0 + $1.waiting.count } } }

    /// Waits until a request may be passed to the client. Call ``leave(_:)`` once afterward.
    ///
    /// - Throws: `CancellationError`.
    func enter(_ origin: String) async throws {
        guard Self.concerns(origin) else { return }
        let id: UInt64? = state.withLock { state in
            if state.mayEnter(origin) { return nil }
            state.next += 1
            return state.next
        }
        guard let id else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.mayEnter(origin) { return .success(()) }
                    state.origins[origin, default: Origin()].waiting[id] = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.origins[origin]?.waiting.removeValue(forKey: id) }?.resume(
                throwing: CancellationError()
            )
        }
    }

    /// Records that a connection was opened, so the client now knows the origin's protocol.
    func recordConnection(_ origin: String) {
        guard Self.concerns(origin) else { return }
        let waiting = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            guard !state.known.contains(origin) else { return [] }
            if state.known.count >= Self.memory { state.known = [] }
            state.known.insert(origin)
            return state.release(origin)
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Records that a request has received its response or has failed.
    func leave(_ origin: String) {
        guard Self.concerns(origin) else { return }
        let waiting = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            // Requests that arrived after the protocol was known are not counted.
            guard let trying = state.origins[origin]?.trying else { return [] }
            state.origins[origin]?.trying = trying - 1
            let waiting = state.release(origin)
            if state.origins[origin]?.trying == 0 { state.origins[origin] = nil }
            return waiting
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Returns whether the origin negotiates a protocol, which requires TLS.
    private static func concerns(_ origin: String) -> Bool { origin.hasPrefix("https:") }
}

extension FirstHandshakes.State {
    fileprivate mutating func mayEnter(_ origin: String) -> Bool {
        if known.contains(origin) { return true }
        let trying = origins[origin]?.trying ?? 0
        guard trying < FirstHandshakes.limit else { return false }
        origins[origin, default: FirstHandshakes.Origin()].trying = trying + 1
        return true
    }

    /// Releases all waiting requests.
    fileprivate mutating func release(_ origin: String) -> [CheckedContinuation<Void, any Error>] {
        guard let waiting = origins[origin]?.waiting, !waiting.isEmpty else { return [] }
        origins[origin]?.waiting = [:]
        origins[origin]?.trying += waiting.count
        return Array(waiting.values)
    }
}
