import NIOCore
import Synchronization

/// The connections of a running server, and the received heads that have not been handled yet.
///
/// It does three things that the framework does not offer: it keeps heads exactly as received,
/// closes every connection immediately, and reports to tests when connections are opened and
/// closed.
final class ConnectionRegistry: Sendable {
    /// The maximum number of concurrent connections of an origin. Further connections are closed.
    static let maximumConnections = 4_096

    private struct Connection {
        let channel: any Channel
        var heads: [RawRequestHead] = []
        /// Whether the peer has closed its side. Tests, like the peer, regard such a connection as
        /// closed.
        var isAbandoned = false
    }

    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        var accepted = 0
        var isRefusing = false
        var nextID = 0
        var observers: [Int: (atMost: Int, continuation: CheckedContinuation<Void, Never>)] = [:]

        var open: Int { connections.values.count { !$0.isAbandoned } }

        mutating func satisfiedObservers() -> [CheckedContinuation<Void, Never>] {
            let open = open
            let satisfied = observers.filter { $0.value.atMost >= open }
            for id in satisfied.keys { observers.removeValue(forKey: id) }
            return satisfied.values.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    var accepted: Int { state.withLock { $0.accepted } }
    var open: Int { state.withLock { $0.open } }

    /// Registers a connection. Returns `false` if the server is stopping or full; the caller must
    /// then close the connection.
    func register(_ channel: any Channel) -> Bool {
        state.withLock { state in
            guard !state.isRefusing, state.connections.count < Self.maximumConnections else { return false }
            state.accepted += 1
            state.connections[ObjectIdentifier(channel)] = Connection(channel: channel)
            return true
        }
    }

    func addHead(_ head: RawRequestHead, on channel: any Channel) {
        state.withLock { $0.connections[ObjectIdentifier(channel)]?.heads.append(head) }
    }

    /// Removes and returns the oldest head, because HTTP/1.1 requests are handled in the order in
    /// which they arrive.
    func nextHead(on channel: any Channel) -> RawRequestHead? {
        state.withLock { state in
            let id = ObjectIdentifier(channel)
            guard state.connections[id]?.heads.isEmpty == false else { return nil }
            return state.connections[id]?.heads.removeFirst()
        }
    }

    func markAbandoned(_ channel: any Channel) {
        change { $0.connections[ObjectIdentifier(channel)]?.isAbandoned = true }
    }

    func unregister(_ channel: any Channel) {
        change { $0.connections.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// Closes every connection and, until ``accept()``, also connections that are still being
    /// accepted.
    func closeAll() {
        let channels = state.withLock { state in
            state.isRefusing = true
            return state.connections.values.map(\.channel)
        }
        for channel in channels {
            channel.close(mode: .all, promise: nil)
        }
    }

    func accept() {
        state.withLock { $0.isRefusing = false }
    }

    /// Waits until at most `count` connections are open, or the task is canceled.
    func waitUntilOpen(atMost count: Int) async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    guard state.open > count, !Task.isCancelled else { return true }
                    state.observers[id] = (count, continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.observers.removeValue(forKey: id) }?.continuation.resume()
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let satisfied = state.withLock { state in
            body(&state)
            return state.satisfiedObservers()
        }
        for continuation in satisfied {
            continuation.resume()
        }
    }
}
