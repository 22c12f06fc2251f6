import HummingbirdCore
import NIOCore
import Synchronization

/// The connections of a listener. Decides which connection is closed to make room for a new one.
///
/// A connection is *opened* while it has a request that is authorized by a token or by the
/// permissions of the Unix socket. An opened connection keeps its permit. While ``limit``
/// connections are opened, no connection is accepted.
///
/// Every other connection is a *stranger*: it has sent no request head yet, is between two
/// requests, or has a request without authorization (a login, a file of the page, a request that
/// will be rejected).
///
/// Strangers have separate permits. When there are more than ``strangerLimit`` strangers, one is
/// closed: among the strangers of the client that has the most, the one that has been a stranger
/// for the longest time. A client that keeps opening connections without a token therefore loses
/// its own connections first, and cannot lock an operator out.
struct ConnectionPermits: Sendable {
    private struct Stranger {
        var connection: ObjectIdentifier
        var client: ClientNetwork
    }

    /// The maximum number of connections with an authorized request.
    let limit: Int
    /// The maximum number of connections without an authorized request.
    let strangerLimit: Int

    private var opened: Set<ObjectIdentifier> = []
    /// The strangers, ordered by how long they have been strangers, longest first.
    private var strangers: [Stranger] = []

    init(limit: Int, strangerLimit: Int) {
        self.limit = limit
        self.strangerLimit = strangerLimit
    }

    /// Whether the listener may accept another connection.
    var isAccepting: Bool { opened.count < limit }

    /// Records a connection that is new, or that no longer has a request in progress.
    ///
    /// - Returns: the connection that the caller must close to make room; `nil` if there is room.
    mutating func admit(_ connection: ObjectIdentifier, of client: ClientNetwork) -> ObjectIdentifier? {
        remove(connection)
        strangers.append(Stranger(connection: connection, client: client))
        guard strangers.count > strangerLimit else { return nil }
        return strangers.remove(at: longestOfTheMost).connection
    }

    /// Records that a connection's request is authorized.
    mutating func open(_ connection: ObjectIdentifier) {
        strangers.removeAll { $0.connection == connection }
        opened.insert(connection)
    }

    /// Records that a connection was closed.
    mutating func remove(_ connection: ObjectIdentifier) {
        strangers.removeAll { $0.connection == connection }
        opened.remove(connection)
    }

    /// The index of the longest-lived stranger of the client that has the most strangers.
    private var longestOfTheMost: Int {
        var counts: [ClientNetwork: Int] = [:]
        for stranger in strangers { counts[stranger.client, default: 0] += 1 }
        let most = counts.values.max()
        return strangers.firstIndex { counts[$0.client] == most } ?? 0
    }
}

/// Accepts a listener's connections as ``ConnectionPermits`` decides, and closes connections to
/// make room for others.
///
/// The listener and its connections share one event loop.
final class ConnectionAdmission: AvailableConnectionsDelegate {
    private struct State {
        var permits: ConnectionPermits
        var listener: (any Channel)?
        var strangers: [ObjectIdentifier: any Channel] = [:]
        /// Whether the listener is waiting for a permit.
        var isPaused = false

        /// Ends the listener's pause if a permit is free.
        ///
        /// - Returns: the listener, if it was waiting for a permit and a permit is now free.
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

    /// Sets the listener that resumes accepting when a permit becomes free.
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

    /// Records a connection that is new, or that no longer has a request in progress.
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

    /// Records that a connection's request is authorized.
    func open(_ channel: any Channel) {
        state.withLock { state in
            let id = ObjectIdentifier(channel)
            state.permits.open(id)
            state.strangers[id] = nil
        }
    }

    /// Records that a connection was closed.
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
