import NIOCore
import Synchronization

/// The open connections of clients: counted, so that there are never too many, and told when the gateway stops.
final class ConnectionRegistry: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isDraining = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes a connection in until it is closed; `false` when there are as many as there may be.
    func admit(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let isAdmitted = state.withLock { state in
            guard !state.isDraining, state.channels.count < limit else { return false }
            state.channels[id] = channel
            return true
        }
        guard isAdmitted else { return false }
        channel.closeFuture.whenComplete { _ in self.state.withLock { _ = $0.channels.removeValue(forKey: id) } }
        return true
    }

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

    /// Has idle connections closed at once and the others after their present exchange, or when the time is over.
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
