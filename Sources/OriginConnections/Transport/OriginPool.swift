import GatewayRouting
import NIOCore
import Synchronization

/// The idle connections to origins. The connection that was used last is taken first.
final class OriginPool: Sendable {
    private struct State {
        var idle: [OriginEndpoint: [OriginConnection]] = [:]
        var isClosed = false
        /// The number of open connections per endpoint, for endpoints that have any.
        var open: [OriginEndpoint: Int] = [:]
        /// The number of connections taken from other loops so far.
        var borrowedCount = 0
        var suspects = SuspectOrigins()
        /// The number of times that bytes arrived after a response, by the endpoint's name.
        var strays: [OriginEndpoint: Int] = [:]

        /// Removes an endpoint's empty array. If there are few endpoints, the array stays for
        /// connections that come back.
        mutating func forgetIfEmpty(_ place: Dictionary<OriginEndpoint, [OriginConnection]>.Index) {
            if idle.values[place].isEmpty, idle.count > 64 { idle.remove(at: place) }
        }
    }

    private let limit: Int
    private let state = Mutex(State())
    /// Whether ``isSuspect(_:)`` needs to check.
    private let hasSuspects = Atomic(false)
    private let whenSuspect: @Sendable (OriginEndpoint) -> Void

    /// - Parameter whenSuspect: called when an origin becomes suspect: see ``noteStray(from:at:)``.
    init(limit: Int, whenSuspect: @escaping @Sendable (OriginEndpoint) -> Void = { _ in }) {
        self.limit = limit
        self.whenSuspect = whenSuspect
    }

    /// Records bytes after a response. The origin's idle connections are closed, and no connection
    /// to it is kept for five minutes.
    func noteStray(from endpoint: OriginEndpoint, at now: NIODeadline = .now()) {
        let (isNew, kept) = state.withLock { state in
            let name = endpoint.named
            if state.strays[name] != nil || state.strays.count < SuspectOrigins.limit {
                state.strays[name, default: 0] += 1
            }
            hasSuspects.store(true, ordering: .relaxed)
            let isNew = state.suspects.note(endpoint, at: now)
            let places = state.idle.keys.filter { $0.unrevised == endpoint.unrevised }
            return (isNew, places.flatMap { state.idle.removeValue(forKey: $0) ?? [] })
        }
        for connection in kept { connection.retire() }
        if isNew { whenSuspect(endpoint) }
    }

    /// Whether each connection to an origin takes only one request.
    func isSuspect(_ endpoint: OriginEndpoint, at now: NIODeadline = .now()) -> Bool {
        hasSuspects.load(ordering: .relaxed) && state.withLock { $0.suspects.contains(endpoint, at: now) }
    }

    /// The number of times that bytes arrived after a response, by the endpoint's name, for
    /// metrics.
    var strayCounts: [OriginEndpoint: Int] { state.withLock { $0.strays } }

    /// The number of connections to an endpoint.
    struct Count {
        var open = 0
        /// The number of open connections that are idle.
        var idle = 0

        mutating func add(_ other: Count) {
            open += other.open
            idle += other.idle
        }
    }

    /// The number of connections to each endpoint, for metrics.
    var counts: [OriginEndpoint: Count] {
        state.withLock { state in
            var counts = state.open.mapValues { Count(open: $0) }
            for (endpoint, idle) in state.idle { counts[endpoint]?.idle = idle.count }
            return counts
        }
    }

    /// Counts a connection until ``closed(_:)``.
    func opened(_ endpoint: OriginEndpoint) { state.withLock { $0.open[endpoint, default: 0] += 1 } }

    func closed(_ endpoint: OriginEndpoint) {
        state.withLock { state in
            state.open[endpoint]? -= 1
            if state.open[endpoint] == 0 { state.open[endpoint] = nil }
        }
    }

    /// The result for a caller that can only use connections of its own loop.
    enum OwnConnection {
        case connection(OriginConnection)
        /// Only other loops have idle connections.
        case others
        case none
    }

    func takeOwn(_ endpoint: OriginEndpoint, of eventLoop: any EventLoop) -> OwnConnection {
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

    /// One in this many requests opens a new connection instead of using another loop's connection.
    /// Opening one is a single cost, but another loop's connection costs two thread switches per
    /// request.
    private static let borrowing = 8

    /// Takes an idle connection. Returns `nil` if there is none, or if the caller should open one
    /// on its own loop.
    ///
    /// - Parameter eventLoop: the caller's loop. A connection on the same loop is preferred,
    ///   because it needs no thread switch.
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

    /// Keeps a connection. Returns `false` if there are enough, if the origin is suspect, or if the
    /// pool is closed.
    func keep(_ connection: OriginConnection, _ endpoint: OriginEndpoint) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.suspects.isEmpty || !state.suspects.contains(endpoint, at: .now()) else {
                return false
            }
            guard let place = state.idle.index(forKey: endpoint) else {
                if limit > 0 { state.idle[endpoint] = [connection] }
                return limit > 0
            }
            guard state.idle.values[place].count < limit else { return false }
            state.idle.values[place].append(connection)
            return true
        }
    }

    /// Removes a closed connection.
    func remove(_ connection: OriginConnection, _ endpoint: OriginEndpoint) {
        state.withLock { state in
            guard let place = state.idle.index(forKey: endpoint) else { return }
            state.idle.values[place].removeAll { $0 === connection }
            state.forgetIfEmpty(place)
        }
    }

    /// Closes the pool, which then keeps no more connections. Returns the kept connections.
    func close() -> [OriginConnection] {
        state.withLock { state in
            state.isClosed = true
            defer { state.idle = [:] }
            return state.idle.values.flatMap { $0 }
        }
    }
}
