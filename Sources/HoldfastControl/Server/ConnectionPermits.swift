import HummingbirdCore
import NIOCore
import Synchronization

/// The connections of a listener, and which of them makes room for a new one.
///
/// A connection is *opened* while a request is under way that a token opens, or the permissions of
/// the Unix socket. It keeps its permit, and no further connection is accepted while ``limit`` of
/// them are open. Every other connection is a *stranger*: it has sent no head yet, waits between
/// two requests, or asks for something that needs no token (a log-in, a file of the page, a
/// refusal).
///
/// Strangers have permits of their own. Beyond ``strangerLimit`` a new one replaces another one: of
/// the client that has the most, the one that has been a stranger for longest. So a client that
/// opens connection after connection without a token takes permits from itself first, and keeps no
/// operator out.
struct ConnectionPermits: Sendable {
    private struct Stranger {
        var connection: ObjectIdentifier
        var client: ClientNetwork
    }

    /// The most connections with a request that a token opens.
    let limit: Int
    /// The most connections without one.
    let strangerLimit: Int

    private var opened: Set<ObjectIdentifier> = []
    /// The one that has been a stranger for longest comes first.
    private var strangers: [Stranger] = []

    init(limit: Int, strangerLimit: Int) {
        self.limit = limit
        self.strangerLimit = strangerLimit
    }

    /// Whether a further connection is accepted.
    var isAccepting: Bool { opened.count < limit }

    /// A connection is new, or has no more requests under way.
    ///
    /// - Returns: the connection whose permit it takes, which is to be closed.
    mutating func admit(_ connection: ObjectIdentifier, of client: ClientNetwork) -> ObjectIdentifier? {
        remove(connection)
        strangers.append(Stranger(connection: connection, client: client))
        guard strangers.count > strangerLimit else { return nil }
        return strangers.remove(at: longestOfTheMost).connection
    }

    /// A token opens the request that has come on a connection.
    mutating func open(_ connection: ObjectIdentifier) {
        strangers.removeAll { $0.connection == connection }
        opened.insert(connection)
    }

    /// A connection was closed.
    mutating func remove(_ connection: ObjectIdentifier) {
        strangers.removeAll { $0.connection == connection }
        opened.remove(connection)
    }

    /// The first stranger of the client that has the most of them.
    private var longestOfTheMost: Int {
        var counts: [ClientNetwork: Int] = [:]
        for stranger in strangers { counts[stranger.client, default: 0] += 1 }
        let most = counts.values.max()
        return strangers.firstIndex { counts[$0.client] == most } ?? 0
    }
}

/// Accepts the connections of a listener as ``ConnectionPermits`` decides, and closes those that
/// make room for others.
///
/// The listener and its connections are on one event loop.
final class ConnectionAdmission: AvailableConnectionsDelegate {
    private struct State {
        var permits: ConnectionPermits
        var listener: (any Channel)?
        var strangers: [ObjectIdentifier: any Channel] = [:]
        /// Whether the listener waits for a permit.
        var isPaused = false

        /// - Returns: the listener if it waited for a permit that is free now.
        mutating func resumes() -> (any Channel)? {
            guard isPaused, permits.isAccepting else { return nil }
            isPaused = false
            return listener
        }
    }

    private let state: Mutex<State>

    init(limit: Int, strangerLimit: Int) {
        state = Mutex(State(permits: ConnectionPermits(limit: limit, strangerLimit: strangerLimit)))
    }

    /// Names the listener, which accepts again when a permit is free.
    func listens(on channel: any Channel) { state.withLock { $0.listener = channel } }

    // MARK: The listener

    func connectionOpened() {}

    func connectionClosed() {}

    func isAcceptingNewConnections() -> Bool {
        state.withLock { state in
            state.isPaused = !state.permits.isAccepting
            return state.permits.isAccepting
        }
    }

    // MARK: Connections

    /// A connection is new, or has no more requests under way.
    func admit(_ channel: any Channel, of client: ClientNetwork) {
        let (displaced, resumed) = state.withLock { state in
            let id = ObjectIdentifier(channel)
            state.strangers[id] = channel
            let displaced = state.permits.admit(id, of: client)
            return (displaced.flatMap { state.strangers.removeValue(forKey: $0) }, state.resumes())
        }
        displaced?.close(promise: nil)
        resumed?.read()
    }

    /// A token opens the request that has come on a connection.
    func open(_ channel: any Channel) {
        state.withLock { state in
            let id = ObjectIdentifier(channel)
            state.permits.open(id)
            state.strangers[id] = nil
        }
    }

    /// A connection was closed.
    func remove(_ channel: any Channel) {
        let resumed = state.withLock { state in
            let id = ObjectIdentifier(channel)
            state.permits.remove(id)
            state.strangers[id] = nil
            return state.resumes()
        }
        resumed?.read()
    }
}
