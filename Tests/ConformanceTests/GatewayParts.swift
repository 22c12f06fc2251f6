import HTTPCache
import HTTPCacheSemantics
import HoldfastGateway
import HoldfastTesting
import Logging
import NIOCore
import NIOPosix

/// The parts of a gateway in front of a case's origin, which is behind a socket: all but the side
/// of the clients.
struct GatewayParts: Sendable {
    let clock = ManualClock()
    let store = InMemoryResponseStore()
    let group = MultiThreadedEventLoopGroup.singleton
    let logger = Logger(label: "conformance") { _ in SwiftLogNoOpLogHandler() }
    let engine: CacheEngine
    let configuration: GatewayConfiguration
    private let wireOrigin: WireOrigin
    private let transport: OriginTransport

    init(_ origin: CaseOrigin) async throws {
        wireOrigin = try await WireOrigin(origin, clock: clock)
        let gatewayOrigin = try GatewayOrigin("http://127.0.0.1:\(wireOrigin.port)")
        // Nothing here is about time in the world: limits are out of a busy machine's reach.
        let patience = Duration.seconds(3600)
        var transportConfiguration = OriginTransport.Configuration()
        transportConfiguration.connectTimeout = patience
        transportConfiguration.firstByteTimeout = patience
        transportConfiguration.readTimeout = patience
        transportConfiguration.idleTimeout = patience
        transport = try OriginTransport(configuration: transportConfiguration, group: group, logger: logger)
        var options = EngineOptions()
        options.hardTimeout = patience
        engine = CacheEngine(
            store: store,
            transport: transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            parts: .init(clock: clock),
            logger: logger
        )
        var configuration = GatewayConfiguration(origin: gatewayOrigin, port: 0)
        configuration.timeouts.closing = .zero
        self.configuration = configuration
    }

    /// The origin's address.
    var originAddress: String { "127.0.0.1:\(wireOrigin.port)" }

    /// The side of the clients, over sockets.
    func makeServer() -> GatewayServer {
        GatewayServer(configuration: configuration, engine: engine, group: group, clock: clock, logger: logger)
    }

    /// Waits until what the gateway fetched is stored. A client has all bytes of a response before
    /// that, and a request that comes in between shares the fetch instead of finding the response.
    ///
    /// The bound only prevents endless waiting for a fetch that does not end.
    func waitForFills() async {
        let end = ContinuousClock.now + .seconds(600)  // a guard
        while engine.inFlightFetchCount > 0, ContinuousClock.now < end { await Task.yield() }  // a guard
    }

    func close() async {
        await engine.shutDown()
        await transport.shutDown()
        await wireOrigin.stop()
    }
}
