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
    let observe: @Sendable (JobExchange) -> Void
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

    /// Removes limits that are for a gateway's clients. The command is the only client.
    func admitCommand(to gateway: inout GatewayConfiguration) {
        gateway.clients = Configuration.ClientLists()
        gateway.requestRate = nil
        gateway.maximumConnectionsPerClient = nil
    }
}

extension GatewayStart {
    /// Serves from a store on the first listener while `body` runs.
    ///
    /// - Parameter body: gets the gateway's URL.
    func serve<Value: Sendable>(
        from store: CacheManager,
        while body: (String) async throws -> Value
    ) async throws -> Value {
        let process = try await connect(store, nil, ControlledPurging(logger: logger))
        let outcome: Result<Value, any Error>
        do {
            process.health.enter(.serving)
            let addresses = try await process.server.startListening()
            guard let address = addresses.first else { throw CancellationError() }
            outcome = .success(try await body("http://\(address)"))
        } catch {
            outcome = .failure(error)
        }
        await process.server.stop()
        await process.endExchanges()
        await process.accessLog.close()
        return try outcome.get()
    }
}
