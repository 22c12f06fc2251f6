import NIOCore
import Synchronization

/// Connections that wait for their next request, the latest used first.
final class OriginPool: Sendable {
    private struct State {
        var idle: [OriginEndpoint: [OriginConnection]] = [:]
        var isClosed = false
        /// Connections of other loops that were taken so far.
        var borrowedCount = 0

        /// Of few endpoints the empty places stay, for the connections that come back to them.
        mutating func forgetIfEmpty(_ place: Dictionary<OriginEndpoint, [OriginConnection]>.Index) {
            if idle.values[place].isEmpty, idle.count > 64 { idle.remove(at: place) }
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = limit
    }

    /// What there is for a caller who can use connections of its own loop alone.
    enum Own {
        case connection(OriginConnection)
        /// Other loops have some.
        case others
        case none
    }

    func takeOwn(_ endpoint: OriginEndpoint, of eventLoop: any EventLoop) -> Own {
        state.withLock { state in
            guard let place = state.idle.index(forKey: endpoint), !state.idle.values[place].isEmpty else {
                return .none
            }
            guard let own = state.idle.values[place].lastIndex(where: { $0.eventLoop === eventLoop }) else {
                return .others
            }
            defer { state.forgetIfEmpty(place) }
            return .connection(state.idle.values[place].remove(at: own))
        }
    }

    /// The connection of another loop costs two changes of threads each time, and a new one is made
    /// once: of so many times, one is for a new one.
    private static let borrowing = 8

    /// - Parameter eventLoop: where the caller runs: a connection that is served there is better
    ///   than another, because nobody changes the thread then.
    func take(_ endpoint: OriginEndpoint, near eventLoop: (any EventLoop)?) -> OriginConnection? {
        state.withLock { state in
            guard let place = state.idle.index(forKey: endpoint), !state.idle.values[place].isEmpty else { return nil }
            defer { state.forgetIfEmpty(place) }
            guard let eventLoop else { return state.idle.values[place].popLast() }
            if let near = state.idle.values[place].lastIndex(where: { $0.eventLoop === eventLoop }) {
                return state.idle.values[place].remove(at: near)
            }
            state.borrowedCount &+= 1
            return state.borrowedCount % Self.borrowing == 0 ? nil : state.idle.values[place].popLast()
        }
    }

    /// Keeps a connection; `false` when there are enough.
    func keep(_ connection: OriginConnection, _ endpoint: OriginEndpoint) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            return state.idle[endpoint, default: []].append(connection, upTo: limit)
        }
    }

    /// Forgets a connection that was closed.
    func remove(_ connection: OriginConnection, _ endpoint: OriginEndpoint) {
        state.withLock { state in
            guard let place = state.idle.index(forKey: endpoint) else { return }
            state.idle.values[place].removeAll { $0 === connection }
            state.forgetIfEmpty(place)
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

extension [OriginConnection] {
    /// - Returns: `false` when there are enough.
    fileprivate mutating func append(_ connection: OriginConnection, upTo limit: Int) -> Bool {
        guard count < limit else { return false }
        append(connection)
        return true
    }
}
