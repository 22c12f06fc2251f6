import HTTPCache
import HTTPCacheOperations
import Holdfast
import HoldfastConfiguration
import HoldfastControl
import HoldfastGateway

/// The parts of a gateway that records or replays a job.
struct JobGateway: Sendable {
    /// The use that the gateway makes of the job.
    enum Use: Sendable {
        case recording
        /// No origin is contacted: the engine gets a transport that opens no connection.
        case replaying
    }

    let run: JobRun
    let use: Use
    /// The proxy of the command, if its requests name their origins.
    var proxy: JobProxy?
    let observe: @Sendable (JobExchange) -> Void
    /// Finds the recorded request that differs least from a refused one; `nil` does not look.
    var nearest: (@Sendable (JobExchange) async -> NearestRecorded?)?
    /// The key of the HMACs by which credentials are compared. It is made for this run, and written
    /// nowhere.
    let secret: [UInt8]

    init(_ use: Use, _ run: JobRun, observe: @escaping @Sendable (JobExchange) -> Void) {
        self.run = run
        self.use = use
        self.observe = observe
        var random = SystemRandomNumberGenerator()
        secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// Removes limits that are for a gateway's clients. The command is the only client, and origins
    /// are told the scheme of the job.
    func admitCommand(to gateway: inout GatewayConfiguration) {
        gateway.statesHTTPS = run.use.statesHTTPS
        gateway.clients = Configuration.ClientLists()
        gateway.requestRate = nil
        gateway.maximumConnectionsPerClient = nil
        guard let proxy else { return }
        gateway.commandProxy = proxy.proxy
        // Any path may be an origin's.
        (gateway.healthPath, gateway.livePath, gateway.readyPath) = (nil, nil, nil)
        // The command sees why a request failed, and its own fields are the origin's concern.
        gateway.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self)
    }
}

extension GatewayStart {
    /// Serves a job from a store on the first listener, until the address is closed.
    func open(_ store: CacheManager) async throws -> RecordingKeeper.Address {
        let process = try await connect(store, nil, ControlledPurging(isInFleet: false, logger: logger))
        let close = { @Sendable (storesAll: Bool) in
            await process.server.stop()
            // The command may have ended before its last response was stored.
            if storesAll { await process.engine.finishFetches() }
            await process.endExchanges()
            await process.accessLog.close()
        }
        do {
            process.health.enter(.serving)
            let addresses = try await process.server.startListening(on: prepared.take())
            guard let address = addresses.first else { throw CancellationError() }
            return RecordingKeeper.Address("http://\(address)", close: close)
        } catch {
            await close(false)
            throw error
        }
    }
}
