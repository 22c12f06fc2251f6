import HTTPCache
import HTTPCacheOperations
import Holdfast
import HoldfastConfiguration
import HoldfastControl
import HoldfastFleet
import HoldfastGateway
import HoldfastTracing
import ServiceLifecycle
import UnixSignals

/// The parts of a gateway, which ``GatewayStart`` has connected. It runs them until a signal stops
/// them.
struct GatewayProcess: Sendable {
    let configuration: ReloadableConfiguration
    let engine: CacheEngine
    let operations: EngineOperations
    let transport: OriginTransport
    /// The tracer; `nil` if no traces are sent.
    let tracer: RequestTracer?
    let server: GatewayServer
    /// The control plane; `nil` if it is disabled.
    var control: ControlServer?
    /// Reread the token files; empty if no operation needs a token.
    var tokens: [TokenWatch] = []
    let health: GatewayHealth
    let supervision: Supervision
    let accessLog: AccessLog
    /// The fleet membership; `nil` if nothing is shared with other nodes.
    let member: FleetMember?
    /// The recordings of jobs; `nil` in a gateway that serves one job itself.
    let recordings: RecordingKeeper?
    /// The addresses of the control plane's ports.
    let freedAddresses: [String]
    let logger: Logger
    let events: EventLog

    /// Serves until a signal arrives, then closes the store.
    func run(_ store: CacheManager, _ signals: UnixSignalsSequence) async throws {
        // The group stops its parts from last to first: the server finishes its responses, then
        // fetches end, then the store closes. Each part limits the duration of its own shutdown.
        // Operators keep control until the engine has ended. A process that takes over learns last
        // that the store is closed.
        let (handovers, continuation) = AsyncStream.makeStream(of: Void.self)
        let handover = makeHandover(store, continuation)
        var parts: [any Service] = []
        if let handover { parts.append(handover) }
        parts.append(Ending { await accessLog.close() })
        parts.append(
            Ending {
                await member?.end()
                try await store.close()
            }
        )
        if let control { parts.append(control) }
        parts.append(Ending { await endExchanges() })
        parts.append(server)
        let services = ServiceGroup(services: parts, logger: logger)
        let ending = EndOfProcess()
        supervision.manager.notify(.ready)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await obey(signals, ending, services, handover) }
            tasks.addTask { for await _ in handovers { await endAfterHandover(ending, services) } }
            tasks.addTask { await supervision.run() }
            tasks.addTask { await CertificateWatch(server, transport).run() }
            for watch in tokens { tasks.addTask { await watch.run() } }
            tasks.addTask { await watchNamedFiles() }
            tasks.addTask { await OriginHealthChecks(transport).run() }
            tasks.addTask { await watchFiles(of: store) }
            tasks.addTask { await MemoryReturn(engine, server).run() }
            if let member { tasks.addTask { await member.run() } }
            if let recordings { tasks.addTask { await recordings.restore() } }
            defer { tasks.cancelAll() }
            try await services.run()
        }
    }

    /// Rereads regularly the files of field values and unusable pages.
    private func watchNamedFiles() async {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: .seconds(60))) != nil { await configuration.rereadFiles() }
        }
    }

    /// Checks regularly that the store's files were not deleted or replaced.
    private func watchFiles(of store: CacheManager) async {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: CacheManager.fileCheckInterval)) != nil { await store.checkFiles() }
        }
    }

    /// Ends all fetches and closes the connections to the origins.
    func endExchanges() async {
        await operations.shutDown()
        await transport.shutDown()
        await tracer?.shutDown()
    }
}

/// A part that runs from startup and must be closed.
private struct Ending: Service {
    let close: @Sendable () async throws -> Void

    init(_ close: @escaping @Sendable () async throws -> Void) { self.close = close }

    func run() async throws {
        // This throws if the group was canceled. The part must be closed in that case, too.
        try? await gracefulShutdown()
        try await close()
    }
}
