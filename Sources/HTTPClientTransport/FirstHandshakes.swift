import Synchronization

/// Bounds the TLS handshakes with an origin of which nobody knows yet whether its requests can
/// share a connection.
///
/// The client makes one connection for each request until the first one tells that the origin
/// speaks HTTP/2; then it closes the others. Only a few requests are handed to it before that, and
/// the rest with the first connection, or when one of the few has failed.
final class FirstHandshakes: Sendable {
    fileprivate struct Origin {
        var trying = 0
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    }

    fileprivate struct State {
        var origins: [String: Origin] = [:]
        /// Those to which there was a connection.
        var known: Set<String> = []
        var next: UInt64 = 0
    }

    /// Handshakes at a time.
    static let limit = 8
    /// Origins that are remembered; of more, all are forgotten, which costs some handshakes and no
    /// more.
    private static let memory = 4096

    private let state = Mutex(State())

    /// Requests that wait.
    var waitingCount: Int { state.withLock { $0.origins.values.reduce(0) { $0 + $1.waiting.count } } }

    /// Returns when a request may be handed to the client; ``leave(_:)`` is to be called once after
    /// it.
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

    /// There is a connection: the client knows what it can do.
    func connected(_ origin: String) {
        guard Self.concerns(origin) else { return }
        let waiting = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            guard !state.known.contains(origin) else { return [] }
            if state.known.count >= Self.memory { state.known = [] }
            state.known.insert(origin)
            return state.release(origin)
        }
        for waiter in waiting { waiter.resume() }
    }

    /// A request has its response, or has failed.
    func leave(_ origin: String) {
        guard Self.concerns(origin) else { return }
        let waiting = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            // Those that came when it was known are not counted.
            guard let trying = state.origins[origin]?.trying else { return [] }
            state.origins[origin]?.trying = trying - 1
            let waiting = state.release(origin)
            if state.origins[origin]?.trying == 0 { state.origins[origin] = nil }
            return waiting
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Without TLS no protocol is negotiated.
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

    /// Lets all in that wait.
    fileprivate mutating func release(_ origin: String) -> [CheckedContinuation<Void, any Error>] {
        guard let waiting = origins[origin]?.waiting, !waiting.isEmpty else { return [] }
        origins[origin]?.waiting = [:]
        origins[origin]?.trying += waiting.count
        return Array(waiting.values)
    }
}
