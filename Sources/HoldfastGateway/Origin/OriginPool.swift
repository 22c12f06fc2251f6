import NIOCore
import Synchronization

/// Connections that wait for their next request, the latest used first.
final class OriginPool: Sendable {
    private struct State {
        var idle: [OriginEndpoint: [OriginConnection]] = [:]
        var isClosed = false
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = limit
    }

    /// - Parameter eventLoop: where the caller runs: a connection that is served there is better than another, because nobody changes the thread then.
    func take(_ endpoint: OriginEndpoint, near eventLoop: (any EventLoop)?) -> OriginConnection? {
        state.withLock { state in
            let near = eventLoop.flatMap { loop in state.idle[endpoint]?.lastIndex { $0.eventLoop === loop } }
            let connection =
                near.flatMap { state.idle[endpoint]?.remove(at: $0) } ?? state.idle[endpoint]?.popLast()
            if state.idle[endpoint]?.isEmpty == true { state.idle[endpoint] = nil }
            return connection
        }
    }

    /// Keeps a connection; `false` when there are enough.
    func keep(_ connection: OriginConnection, _ endpoint: OriginEndpoint) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.idle[endpoint, default: []].count < limit else { return false }
            state.idle[endpoint, default: []].append(connection)
            return true
        }
    }

    /// Forgets a connection that was closed.
    func remove(_ connection: OriginConnection, _ endpoint: OriginEndpoint) {
        state.withLock { state in
            state.idle[endpoint]?.removeAll { $0 == connection }
            if state.idle[endpoint]?.isEmpty == true { state.idle[endpoint] = nil }
        }
    }

    /// Keeps nothing any more.
    func close() -> [OriginConnection] {
        state.withLock { state in
            state.isClosed = true
            defer { state.idle = [:] }
            return state.idle.values.flatMap { $0 }
        }
    }
}
