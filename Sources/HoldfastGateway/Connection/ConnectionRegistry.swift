import HTTPCache
import NIOCore
import Synchronization

/// The open connections of clients. They are counted, so that there are never too many and no
/// client takes those of all others, and are told when the gateway stops.
///
/// A connection needs no right: it may stand in the handshake of TLS, or send half a head. So
/// clients share the connections that there may be (``ClientShare``).
final class ConnectionRegistry: Sendable {
    fileprivate struct State {
        var channels: [ObjectIdentifier: (channel: any Channel, client: String?)] = [:]
        /// The number of open connections by the client's address.
        var counts: [String: Int] = [:]
        var isDraining = false
        /// Whether the time to drain is over.
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// Why a connection is one too many.
    enum Excess {
        case all, perClient
    }

    private let state = Mutex(State())

    /// The number of open connections.
    var count: Int { state.withLock { $0.channels.count } }
    /// The open connections.
    var channels: [any Channel] { state.withLock { $0.channels.values.map(\.channel) } }
    /// Whether ``beginDraining()`` was called.
    var isDraining: Bool { state.withLock { $0.isDraining } }

    /// Admits a connection until it is closed, whatever the limits are then. One that was accepted
    /// when the gateway began to stop is admitted too: its client was not refused.
    ///
    /// - Parameter client: its client's IP address, or the name of all that have none.
    /// - Returns: the reason if it is not admitted.
    func admit(_ channel: any Channel, of client: String?, _ configuration: GatewayConfiguration) -> Excess? {
        let id = ObjectIdentifier(channel)
        let excess = state.withLock { $0.admit(channel, id, client, configuration) }
        guard excess == nil else { return excess }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.forget(id) } }
        return nil
    }

    /// Counts an admitted connection as one of another client: its proxy has named it.
    ///
    /// - Returns: the reason if that client has too many. Then it is not counted for any client.
    func move(_ channel: any Channel, to client: String?, _ configuration: GatewayConfiguration) -> Excess? {
        state.withLock { $0.move(ObjectIdentifier(channel), to: client, configuration) }
    }

    /// The most refused connections that are read for a moment, so that their clients get the
    /// response. A flood of them is closed at once.
    private static let lingeringLimit = 64
    private let lingering = Atomic(0)

    /// Whether one more may linger; then ``endLingering()`` belongs to it.
    func beginLingering() -> Bool {
        if lingering.add(1, ordering: .relaxed).newValue <= Self.lingeringLimit { return true }
        endLingering()
        return false
    }

    func endLingering() { lingering.subtract(1, ordering: .relaxed) }

    /// Lets ``untilDraining()`` return.
    func beginDraining() {
        let waiting = state.withLock { state in
            state.isDraining = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func untilDraining() async {
        await withCheckedContinuation { continuation in
            let isDraining = state.withLock { state in
                if !state.isDraining { state.waiting.append(continuation) }
                return state.isDraining
            }
            if isDraining { continuation.resume() }
        }
    }

    /// Closes idle connections at once, and the others after their current exchange, or when the
    /// time is over. Call it when no more connections are accepted.
    func drain(within time: Duration, on loop: any EventLoop) async {
        beginDraining()
        let open = channels
        for channel in open { channel.pipeline.fireUserInboundEventTriggered(DrainEvent()) }
        let over = loop.scheduleTask(in: time.timeAmount) { [self] in
            state.withLock { $0.isOver = true }
            for channel in open { channel.close(promise: nil) }
        }
        for channel in open { try? await channel.closeFuture.get() }
        over.cancel()
    }
}

extension ConnectionRegistry.State {
    fileprivate mutating func admit(
        _ channel: any Channel,
        _ id: ObjectIdentifier,
        _ client: String?,
        _ configuration: GatewayConfiguration
    ) -> ConnectionRegistry.Excess? {
        guard !isOver, channels.count < configuration.maximumConnections else { return .all }
        guard count(client, among: channels.count, configuration) else { return .perClient }
        channels[id] = (channel, client)
        return nil
    }

    /// - Parameter others: the open connections without this one.
    /// - Returns: `false` if the client has too many.
    private mutating func count(
        _ client: String?,
        among others: Int,
        _ configuration: GatewayConfiguration
    ) -> Bool {
        // Counted even without a limit: one may be set while the connections are open.
        guard let client else { return true }
        let count = counts[client, default: 0]
        // The connections of a trusted proxy are those of many clients.
        if !configuration.isTrusted(client) {
            if let limit = configuration.maximumConnectionsPerClient, count >= limit { return false }
            let limit = configuration.maximumConnections
            // A reload may have lowered the limit below the open connections.
            guard ClientShare.mayTake(holding: count, of: min(others, limit - 1), limit: limit) else { return false }
        }
        counts[client] = count + 1
        return true
    }

    fileprivate mutating func move(
        _ id: ObjectIdentifier,
        to client: String?,
        _ configuration: GatewayConfiguration
    ) -> ConnectionRegistry.Excess? {
        guard let entry = channels[id], entry.client != client else { return nil }
        uncount(entry.client)
        let isCounted = count(client, among: channels.count - 1, configuration)
        channels[id]?.client = isCounted ? client : nil
        return isCounted ? nil : .perClient
    }

    private mutating func uncount(_ client: String?) {
        guard let client, let count = counts[client] else { return }
        counts[client] = count > 1 ? count - 1 : nil
    }

    fileprivate mutating func forget(_ id: ObjectIdentifier) {
        if let entry = channels.removeValue(forKey: id) { uncount(entry.client) }
    }
}
