import LocalSockets
import NIOCore

/// The parts of one event loop that all its connections share, whichever listener accepted them.
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

/// The open listeners of a gateway, and what must be closed and removed with them.
struct OpenListeners: Sendable {
    /// The addresses at which clients connect, in the order of the configuration.
    var addresses: [ListenAddress] = []
    /// One for each address and event loop. Its connections stay on its loop.
    var channels: [any Channel] = []
    /// Those that hand their connections out to all loops.
    var shared: [any Channel] = []
    /// ``LoopBell``, one for each event loop.
    var bells: [any Channel] = []
    /// The paths of Unix sockets.
    var claims: [SocketClaim] = []

    /// Accepts no more connections. All that were accepted have been admitted when it returns.
    ///
    /// No socket is shut down: an inherited one keeps its queue for the next process.
    func close() async {
        for claim in claims { claim.release() }
        await finishHandingOut()
        for channel in channels + shared { try? await channel.close() }
        for bell in bells { bell.close(promise: nil) }
    }

    /// Waits until every accepted connection has reached its loop. A listener that closes before
    /// closes them, too.
    private func finishHandingOut() async {
        guard !shared.isEmpty else { return }
        for channel in shared { try? await channel.setOption(.autoRead, value: false).get() }
        // The loops run what they were given before: they take the connections, and report it to
        // the loops of the listeners.
        for loop in bells.map(\.eventLoop) + shared.map(\.eventLoop) { try? await loop.submit {}.get() }
    }
}
