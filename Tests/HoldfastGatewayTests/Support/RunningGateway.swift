import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastGateway
import HoldfastTesting
import HoldfastTracing
import LocalSockets
import Logging
import NIOCore
import NIOPosix

/// A gateway on a free port, in front of an origin, with a store in memory and a clock that is
/// moved by hand.
///
/// Its timeouts are never reached, so a test of a timeout sets that one.
struct RunningGateway: Sendable {
    let server: GatewayServer
    let engine: CacheEngine
    let transport: OriginTransport
    let store: InMemoryResponseStore
    let clock: ManualClock
    let port: Int

    /// Trusts the client of a test, so that problems state their cause to it.
    static func trustingClients(_ configuration: inout GatewayConfiguration) {
        configuration.trustedClients = [AddressRange("127.0.0.1")].compactMap { $0 }
    }

    /// Runs a gateway for the duration of the body.
    ///
    /// - Parameters:
    ///   - group: the event loops of the gateway.
    ///   - passed: the sockets of another gateway.
    static func with<Value>(
        origin: String,
        group: MultiThreadedEventLoopGroup = .singleton,
        mode: OfflineMode = .automatic,
        options: EngineOptions = .patient,
        hasResidentBodies: Bool = true,
        rules: (any ExchangeRules)? = nil,
        wrapping wrap: (InMemoryResponseStore) -> any ResponseStore = { $0 },
        sleeper: any Clock<Duration> = TimeoutClock(),
        purging: (any ClientPurging)? = nil,
        health: @escaping @Sendable (HealthCheck) async -> HealthStatus = { _ in .ok },
        accessLog: AccessLog? = nil,
        tracer: RequestTracer? = nil,
        passed: [PassedListener] = [],
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        configureTransport: (inout OriginTransport.Configuration) -> Void = { _ in },
        _ body: (RunningGateway) async throws -> Value
    ) async throws -> Value {
        let logger = Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }
        var configuration = GatewayConfiguration(origin: try GatewayOrigin(origin), port: 0)
        configuration.timeouts = .patient
        configure(&configuration)
        var transportConfiguration = OriginTransport.Configuration.patient
        transportConfiguration.routes = configuration.routes
        configureTransport(&transportConfiguration)
        let transport = try OriginTransport(
            configuration: transportConfiguration,
            group: group,
            logger: logger,
            tracer: tracer
        )
        let store = InMemoryResponseStore(hasResidentBodies: hasResidentBodies)
        let clock = ManualClock()
        var parts = CacheEngine.Parts(clock: clock, sleeper: sleeper)
        parts.targetOrigins = transport
        let engine = CacheEngine(
            store: wrap(store),
            transport: transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: Array(repeating: 7, count: 32),
            mode: mode,
            options: options,
            rules: rules,
            parts: parts,
            logger: logger
        )
        let server = GatewayServer(
            configuration: configuration,
            engine: engine,
            group: group,
            clock: clock,
            logger: logger,
            purging: purging,
            health: health,
            accessLog: accessLog,
            tracer: tracer
        )
        let address: ListenAddress
        if passed.isEmpty {
            address = try await server.start()
        } else {
            let prepared = try PreparedListener.prepare(configuration.listeners, from: passed)
            address = try await server.startListening(on: prepared).first ?? ListenAddress(host: "", port: 0)
        }
        let gateway = RunningGateway(
            server: server,
            engine: engine,
            transport: transport,
            store: store,
            clock: clock,
            port: address.port
        )
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await body(gateway))
        } catch {
            outcome = .failure(error)
        }
        await server.stop()
        await engine.shutDown()
        await transport.shutDown()
        return try outcome.get()
    }

    /// One request on a connection of its own.
    ///
    /// Waits until responses are stored. A client has all bytes of a response with a length before
    /// the response is stored; after this wait the next request finds it.
    func send(_ request: String) async throws -> RawResponse {
        let fetchesBefore = engine.inFlightFetchCount
        let response = try await RawClient.send(request, to: port)
        await waitForFills(upTo: fetchesBefore)
        return response
    }

    /// An in-flight fetch that a test holds open does not end. So it gives up, but not after a time
    /// alone: each event loop and the thread pool have had many turns by then, however slow they
    /// are.
    func waitForFills(upTo count: Int) async {
        let loops = Array(MultiThreadedEventLoopGroup.singleton.makeIterator())
        let limit = ContinuousClock.now + .milliseconds(500)  // lets time pass
        var turns = 0
        while engine.inFlightFetchCount > count, turns < 500 || ContinuousClock.now < limit {  // lets time pass
            turns += 1
            for loop in loops { try? await loop.submit {}.get() }
            await Task.yield()
        }
    }

    /// A GET on a connection of its own; more fields as lines, each with its CRLF.
    func get(_ target: String, fields: String = "") async throws -> RawResponse {
        try await send("GET \(target) HTTP/1.1\r\nHost: gateway.example\r\n\(fields)\r\n")
    }
}
