import EventLoops
import LocalSockets
import NIOCore

/// The parts of an event loop that all its connections share, regardless of their listeners.
///
/// A class, because each connection refers to it.
final class ServingLoop: Sendable {
    let eventLoop: any EventLoop
    let executor: LoopExecutor
    let lookups: DiskLookups
    let hot: NIOLoopBoundBox<HotTable>
    let telemetry: NIOLoopBoundBox<LoopTelemetry>

    init(_ eventLoop: any EventLoop, _ telemetry: NIOLoopBoundBox<LoopTelemetry>) {
        self.eventLoop = eventLoop
        executor = LoopExecutor(eventLoop)
        lookups = DiskLookups(eventLoop)
        self.telemetry = telemetry
        hot = .makeBoxSendingValue(HotTable(), eventLoop: eventLoop)
    }
}

/// A gateway's open listeners, and the resources that must be released with them.
struct OpenListeners: Sendable {
    /// The addresses where clients connect, in configuration order.
    var addresses: [ListenAddress] = []
    /// The listeners that exist once per address and event loop. Their connections stay on their
    /// loop.
    var channels: [any Channel] = []
    /// The listeners that distribute their connections to all loops.
    var shared: [any Channel] = []
    /// The channels of `LoopBell`, one for each event loop.
    var bells: [any Channel] = []
    /// The claims on the paths of Unix sockets.
    var claims: [SocketClaim] = []
    /// The parts of each listener, in the same order as ``addresses``.
    var listeners: [Listener] = []

    struct Listener: Sendable {
        /// The address as the configuration names it.
        let configured: ListenAddress
        let channels: [any Channel]
        /// The claim on the path of a Unix socket.
        let claim: SocketClaim?
    }

    /// Records that everything opened since `earlier` belongs to one listener.
    mutating func addListener(_ configured: ListenAddress, since earlier: OpenListeners) {
        let opened = channels.dropFirst(earlier.channels.count) + shared.dropFirst(earlier.shared.count)
        let claim = claims.count > earlier.claims.count ? claims.last : nil
        listeners.append(Listener(configured: configured, channels: Array(opened), claim: claim))
    }

    /// Stops accepting connections, or starts again. When this returns, all accepted connections
    /// have been admitted.
    func setAccepting(_ isAccepting: Bool) async {
        for channel in channels + shared {
            channel.pipeline.fireUserInboundEventTriggered(AcceptPause.Change(isAccepting: isAccepting))
        }
        // An event loop runs tasks in order, so this waits for the events.
        for channel in channels + shared { try? await channel.eventLoop.submit {}.get() }
        await untilHandedOut()
    }

    /// Stops accepting connections. When this returns, all accepted connections have been admitted.
    ///
    /// No socket is shut down, because an inherited socket keeps its queue for the next process.
    func close() async {
        for claim in claims { claim.release() }
        await finishHandingOut()
        for channel in channels + shared { try? await channel.close() }
        for bell in bells { bell.close(promise: nil) }
    }

    /// Waits until every accepted connection has reached its loop. If a listener closed earlier, it
    /// would close these connections too.
    private func finishHandingOut() async {
        guard !shared.isEmpty else { return }
        for channel in shared { try? await channel.setOption(.autoRead, value: false).get() }
        await untilHandedOut()
    }

    private func untilHandedOut() async {
        // An event loop runs tasks in order, so an empty task waits for all earlier ones. First,
        // each loop registers the connections handed to it. Then each listener's loop runs the
        // resulting callbacks.
        for loop in bells.map(\.eventLoop) + shared.map(\.eventLoop) { try? await loop.submit {}.get() }
    }
}
