import LocalSockets
import NIOCore

/// The parts of an event loop that all its connections share, whichever listener accepted them.
struct ServingLoop: Sendable {
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

/// A gateway's open listeners, and what must be closed and removed with them.
struct OpenListeners: Sendable {
    /// The addresses where clients connect, in configuration order.
    var addresses: [ListenAddress] = []
    /// One per address and event loop. Their connections stay on their loop.
    var channels: [any Channel] = []
    /// Listeners that distribute their connections to all loops.
    var shared: [any Channel] = []
    /// ``LoopBell``, one for each event loop.
    var bells: [any Channel] = []
    /// The paths of Unix sockets.
    var claims: [SocketClaim] = []

    /// Stops accepting connections. All accepted connections have been admitted when it returns.
    ///
    /// No socket is shut down, because an inherited socket keeps its queue for the next process.
    func close() async {
        for claim in claims { claim.release() }
        await finishHandingOut()
        for channel in channels + shared { try? await channel.close() }
        for bell in bells { bell.close(promise: nil) }
    }

    /// Waits until every accepted connection has reached its loop. A listener that closes earlier
    /// would close them too.
    private func finishHandingOut() async {
        guard !shared.isEmpty else { return }
        for channel in shared { try? await channel.setOption(.autoRead, value: false).get() }
        // Each loop runs its earlier work first: it takes the connections, and reports that to the
        // listeners' loops.
        for loop in bells.map(\.eventLoop) + shared.map(\.eventLoop) { try? await loop.submit {}.get() }
    }
}
