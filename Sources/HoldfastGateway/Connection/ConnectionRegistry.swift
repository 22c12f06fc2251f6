import HoldfastConfiguration
import NIOCore
import Synchronization

/// The open connections of clients: counted, so that there are never too many, and told when the
/// gateway stops.
final class ConnectionRegistry: Sendable {
    fileprivate struct State {
        var limits: Limits
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// By the client's address, for as long as those are counted.
        var counts: [String: Int] = [:]
        var isDraining = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// How many there may be.
    struct Limits: Sendable {
        var all: Int
        var perClient: Int?
        /// Clients whose connections are those of many.
        var trusted: [AddressRange]

        init(_ configuration: GatewayConfiguration) {
            all = configuration.maximumConnections
            perClient = configuration.maximumConnectionsPerClient
            trusted = configuration.trustedClients
        }
    }

    /// Why a connection is one too many.
    enum Excess {
        case all, perClient
    }

    private let state: Mutex<State>

    init(limits: Limits) {
        state = Mutex(State(limits: limits))
    }

    /// Takes other limits; connections that are there stay.
    func reconfigure(_ limits: Limits) {
        state.withLock { $0.limits = limits }
    }

    /// Takes a connection in until it is closed.
    ///
    /// - Returns: why not, where there are as many as there may be.
    func admit(_ channel: any Channel) -> Excess? {
        let id = ObjectIdentifier(channel)
        let client = channel.remoteAddress?.ipAddress
        let excess = state.withLock { $0.admit(channel, id, client) }
        guard excess == nil else { return excess }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.forget(id, client) } }
        return nil
    }

    /// Connections that are refused and may take a moment to notice; a flood of them is closed at
    /// once.
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

    /// Has idle connections closed at once and the others after their present exchange, or when the
    /// time is over.
    func drain(within time: Duration, on loop: any EventLoop) async {
        beginDraining()
        let open = state.withLock { Array($0.channels.values) }
        for channel in open { channel.pipeline.fireUserInboundEventTriggered(DrainEvent()) }
        let over = loop.scheduleTask(in: time.timeAmount) {
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
        _ client: String?
    ) -> ConnectionRegistry.Excess? {
        guard !isDraining, channels.count < limits.all else { return .all }
        // Counted whatever the limit is: it may be set while they are open.
        if let client {
            let count = counts[client, default: 0]
            if let perClient = limits.perClient, count >= perClient,
                !limits.trusted.contains(where: { $0.contains(client) })
            {
                return .perClient
            }
            counts[client] = count + 1
        }
        channels[id] = channel
        return nil
    }

    fileprivate mutating func forget(_ id: ObjectIdentifier, _ client: String?) {
        channels[id] = nil
        guard let client, let count = counts[client] else { return }
        counts[client] = count > 1 ? count - 1 : nil
    }
}
