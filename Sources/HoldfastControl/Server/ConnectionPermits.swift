import HummingbirdCore
import NIOCore
import Synchronization

/// The connections of a listener, and which of them is closed to make room for a new one.
///
/// A connection is *opened* while it has a request that is authorized by a token or by the
/// permissions of the Unix socket. An opened connection keeps its permit, and no connection is
/// accepted while ``limit`` of them are opened. Every other connection is a *stranger*: it has sent
/// no head yet, is between two requests, or requests something that needs no token (a login, a file
/// of the page, a rejection).
///
/// Strangers have separate permits. Beyond ``strangerLimit``, a new stranger replaces another: of
/// the client with the most strangers, the one that has been a stranger for the longest time. So a
/// client that keeps opening connections without a token takes permits from itself first, and
/// cannot lock an operator out.
struct ConnectionPermits: Sendable {
    private struct Stranger {
        var connection: ObjectIdentifier
        var client: ClientNetwork
    }

    /// The most connections with an authorized request.
    let limit: Int
    /// The most connections without one.
    let strangerLimit: Int

    private var opened: Set<ObjectIdentifier> = []
    /// Ordered by how long they have been strangers, longest first.
    private var strangers: [Stranger] = []

    init(limit: Int, strangerLimit: Int) {
        self.limit = limit
        self.strangerLimit = strangerLimit
    }

    /// Whether another connection is accepted.
    var isAccepting: Bool { opened.count < limit }

    /// Records a connection that is new, or that no longer has a request in progress.
    ///
    /// - Returns: the connection whose permit it takes, which must be closed.
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

    /// The longest-lived stranger of the client that has the most strangers.
    private var longestOfTheMost: Int {
        var counts: [ClientNetwork: Int] = [:]
        for stranger in strangers { counts[stranger.client, default: 0] += 1 }
        let most = counts.values.max()
        return strangers.firstIndex { counts[$0.client] == most } ?? 0
    }
}

/// Accepts a listener's connections as ``ConnectionPermits`` decides, and closes those that make
/// room for others.
///
/// The listener and its connections share one event loop.
final class ConnectionAdmission: AvailableConnectionsDelegate {
    private struct State {
        var permits: ConnectionPermits
        var listener: (any Channel)?
        var strangers: [ObjectIdentifier: any Channel] = [:]
        /// Whether the listener waits for a permit.
        var isPaused = false

        /// - Returns: the listener, if it was waiting for a permit and one is free now.
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

    /// Sets the listener, which accepts again when a permit is free.
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
