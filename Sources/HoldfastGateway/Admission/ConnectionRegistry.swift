import EventLoops
import HTTPCache
import NIOCore
import Synchronization

/// Tracks the open client connections. It limits their number, in total and per client, and
/// notifies them when the gateway shuts down.
///
/// Any client can hold a connection without authorization, for example by stopping in the TLS
/// handshake or in the middle of a head. So clients share the available connections
/// (``ClientShare``).
final class ConnectionRegistry: Sendable {
    fileprivate struct State {
        var channels: [ObjectIdentifier: (channel: any Channel, client: String?)] = [:]
        /// The number of open connections by the client's address.
        var counts: [String: Int] = [:]
        var isDraining = false
        /// Whether the time for draining is up.
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The limit that a connection exceeds.
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

    /// Admits a connection until it is closed, even if limits change. A connection that was
    /// accepted just as the gateway began to shut down is also admitted, because its client does
    /// not know about the shutdown.
    ///
    /// - Parameter client: the client's IP address, or the shared name of all clients without one.
    /// - Returns: the limit that the connection exceeds; `nil` if the connection is admitted.
    func admit(_ channel: any Channel, of client: String?, _ configuration: GatewayConfiguration) -> Excess? {
        let id = ObjectIdentifier(channel)
        let excess = state.withLock { $0.admit(channel, id, client, configuration) }
        guard excess == nil else { return excess }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.forget(id) } }
        return nil
    }

    /// Counts an admitted connection for another client, which its proxy has named.
    ///
    /// - Returns: the limit that this client exceeds. The connection then counts for no client.
    ///   `nil` if no limit is exceeded.
    func move(_ channel: any Channel, to client: String?, _ configuration: GatewayConfiguration) -> Excess? {
        state.withLock { $0.move(ObjectIdentifier(channel), to: client, configuration) }
    }

    /// The maximum number of rejected connections that are read for a moment so that their clients
    /// get the response. If there are more, they are closed immediately.
    private static let lingeringLimit = 64
    private let lingering = Atomic(0)

    /// Adds a connection to those that linger, unless there are too many. If this returns `true`,
    /// call ``endLingering()`` later.
    func beginLingering() -> Bool {
        if lingering.add(1, ordering: .relaxed).newValue <= Self.lingeringLimit { return true }
        endLingering()
        return false
    }

    func endLingering() { lingering.subtract(1, ordering: .relaxed) }

    private let ending = Atomic(false)

    /// Whether each response is the last one on its HTTP/1 connection, because the gateway shuts
    /// down soon.
    var isEnding: Bool { ending.load(ordering: .relaxed) }

    func beginEnding() { ending.store(true, ordering: .relaxed) }

    /// Marks the gateway as shutting down, and makes ``untilDraining()`` return.
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

    /// Closes idle connections immediately, and other connections after their current exchange or
    /// when the time is up. Call this when no more connections are accepted.
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

    /// Closes the open connections like ``drain(within:on:)``, but admits later ones: the gateway
    /// may accept connections again. If the task is canceled, this returns early, and the
    /// connections finish their exchanges without a time limit.
    func drainOpen(within time: Duration, on loop: any EventLoop) async {
        let open = channels
        for channel in open { channel.pipeline.fireUserInboundEventTriggered(DrainEvent()) }
        let over = loop.scheduleTask(in: time.timeAmount) {
            for channel in open { channel.close(promise: nil) }
        }
        // It has no effect to complete this twice.
        let end = loop.makePromise(of: Void.self)
        EventLoopFuture.andAllComplete(open.map(\.closeFuture), on: loop).cascade(to: end)
        await withTaskCancellationHandler {
            try? await end.futureResult.get()
        } onCancel: {
            end.succeed()
        }
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

    /// - Parameter others: the number of open connections, not counting this one.
    /// - Returns: `false` if the client has too many connections.
    private mutating func count(
        _ client: String?,
        among others: Int,
        _ configuration: GatewayConfiguration
    ) -> Bool {
        // Counted even without a limit, because a limit may be set while connections are open.
        guard let client else { return true }
        let count = counts[client, default: 0]
        // A trusted proxy's connections belong to many clients.
        if !configuration.isTrusted(client) {
            if let limit = configuration.maximumConnectionsPerClient, count >= limit { return false }
            let limit = configuration.maximumConnections
            // A reload may have set the limit below the number of open connections.
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
