import HummingbirdCore
import NIOCore
import Synchronization

/// The connections of a listener, and which of them makes room for a new one.
///
/// Beyond the limit a new connection takes the place of the one that has waited longest for a
/// request's head, if that is longer than ``grace``. So clients that connect and send nothing keep
/// no operator waiting. A connection with a request under way is never closed for another one.
struct ConnectionPlaces: Sendable {
    /// Whether a further connection is accepted.
    enum Admission: Sendable, Hashable {
        case accept
        /// All places are taken. One may be free at this time; `nil`: when another connection
        /// begins to wait, or closes.
        case wait(until: NIODeadline?)
    }

    /// The most connections.
    let limit: Int
    /// How long a client may take for a head before it can lose its place. Others send theirs
    /// within moments.
    let grace: TimeAmount

    private var open = 0
    /// Those that wait for a head: the one that has waited longest comes first.
    private var waiting: [(connection: ObjectIdentifier, since: NIODeadline)] = []

    init(limit: Int, grace: TimeAmount = SlowClients.grace) {
        self.limit = limit
        self.grace = grace
    }

    /// Whether a further connection is accepted.
    func admission(at now: NIODeadline) -> Admission {
        if open < limit { return .accept }
        guard let end = waiting.first.map({ $0.since + grace }) else { return .wait(until: nil) }
        return end <= now ? .accept : .wait(until: end)
    }

    /// A connection was accepted.
    ///
    /// - Returns: the connection whose place it takes, which is to be closed.
    mutating func accept(at now: NIODeadline) -> ObjectIdentifier? {
        open += 1
        guard open > limit, let first = waiting.first, first.since + grace <= now else { return nil }
        waiting.removeFirst()
        return first.connection
    }

    /// A connection was closed.
    mutating func close() { open -= 1 }

    /// A connection waits for a head from now on.
    mutating func beginWaiting(_ connection: ObjectIdentifier, at now: NIODeadline) {
        endWaiting(connection)
        waiting.append((connection, now))
    }

    /// The head of a connection came, or it was closed.
    mutating func endWaiting(_ connection: ObjectIdentifier) { waiting.removeAll { $0.connection == connection } }
}

/// Accepts the connections of a listener as ``ConnectionPlaces`` decides.
///
/// The listener and its connections are on one event loop.
final class ConnectionAdmission: AvailableConnectionsDelegate {
    private struct State {
        var places: ConnectionPlaces
        var listener: (any Channel)?
        /// The connections that wait for a head.
        var waiting: [ObjectIdentifier: any Channel] = [:]
        /// Whether the listener waits for a place.
        var isPaused = false
        /// Lets the listener look again.
        var look: Scheduled<Void>?
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> NIODeadline

    init(limit: Int, now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        state = Mutex(State(places: ConnectionPlaces(limit: limit)))
        self.now = now
    }

    /// Names the listener, which accepts again when a place is free.
    func listens(on channel: any Channel) { state.withLock { $0.listener = channel } }

    // MARK: The listener

    func connectionOpened() {
        let now = now()
        let closed = state.withLock { state in
            state.places.accept(at: now).flatMap { state.waiting.removeValue(forKey: $0) }
        }
        closed?.close(promise: nil)
    }

    func connectionClosed() { state.withLock { $0.places.close() } }

    func isAcceptingNewConnections() -> Bool {
        let now = now()
        return state.withLock { state in
            switch state.places.admission(at: now) {
            case .accept:
                state.isPaused = false
                return true
            case .wait(let until):
                state.isPaused = true
                if let until { Self.look(at: until, &state) }
                return false
            }
        }
    }

    private static func look(at time: NIODeadline, _ state: inout State) {
        state.look?.cancel()
        guard let listener = state.listener else { return }
        state.look = listener.eventLoop.scheduleTask(deadline: time) { listener.read() }
    }

    // MARK: Connections

    /// A connection waits for a head from now on.
    func beginWaiting(_ channel: any Channel) {
        let now = now()
        state.withLock { state in
            let id = ObjectIdentifier(channel)
            state.places.beginWaiting(id, at: now)
            state.waiting[id] = channel
            guard state.isPaused, case .wait(let until?) = state.places.admission(at: now) else { return }
            Self.look(at: until, &state)
        }
    }

    /// The head of a connection came, or it was closed.
    func endWaiting(_ channel: any Channel) {
        state.withLock { state in
            let id = ObjectIdentifier(channel)
            state.places.endWaiting(id)
            state.waiting[id] = nil
        }
    }
}
