public import GatewayRouting
public import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
public import HTTPWire
public import HoldfastConfiguration
public import HoldfastMetrics
public import HoldfastTracing
public import Logging
public import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Tracing

/// The gateway's transport to its origins: HTTP/1.1 over SwiftNIO. It sends bytes unchanged, and
/// keeps connections to each origin for reuse.
///
/// A request is usually sent once. If a reused connection turns out to be dead before any byte of a
/// response has arrived, the request is retried once, on a new connection. This requires that none
/// of the request was sent, or that its method is idempotent (RFC 9110 §9.2.2) and its content is
/// in memory. If an origin has several servers, a request may also go to another server. After
/// anything unexpected, a connection takes no more requests.
public final class OriginTransport: Transport {
    /// A transport's settings. Every limit has a default.
    public struct Configuration: Sendable {
        /// The routes whose origins requests may go to. With a single origin, every request goes
        /// there, whatever its authority. If `nil`, requests go to their own authority.
        public var routes: GatewayRoutes?
        /// The origins that have their own settings, with readable paths to their files. The
        /// settings apply to the origins of ``routes``.
        public var origins: [HoldfastConfiguration.Configuration.Origin] = []
        /// Limits on responses. See `MessageLimits`.
        public var messageLimits = MessageLimits()
        /// The time to open a connection, including TLS. Default: 10 s
        public var connectTimeout = Duration.seconds(10)
        /// Whether ``connectTimeout`` also applies to origins with several servers. Otherwise
        /// connecting to one server may take 2 s, because another server can be tried.
        public var limitsConnecting = false
        /// The time for the origin to read more of a request's content. Default: 60 s
        public var sendTimeout = Duration.seconds(60)
        /// The time from the last byte sent to the end of a response's head. Default: 60 s
        public var firstByteTimeout = Duration.seconds(60)
        /// The time between bytes of a response while a caller waits for them. Default: 60 s
        public var readTimeout = Duration.seconds(60)
        /// The time that an idle connection is kept. Default: 30 s
        public var idleTimeout = Duration.seconds(30)
        /// The time that a connection is read after its origin has announced closing it.
        var closingTimeout = Duration.seconds(1)
        /// The maximum number of idle connections per origin. Further connections are closed after
        /// their exchange. Default: 64
        public var maximumIdleConnections = 64
        /// A PEM file of trusted certificates that replace the system's.
        public var trustRootsFile: String?
        /// The addresses that may be connected to; `nil` for all, except where a client of a
        /// forward proxy names the host.
        package var destinations: DestinationPolicy?

        /// Creates the default settings.
        public init() {}
    }

    let configuration: Configuration
    let group: any EventLoopGroup
    let logger: Logger
    let pool: OriginPool
    let routesInUse: Mutex<RoutesInUse>
    /// The names of the drained servers, by the origin's URL.
    let drained = Mutex<[String: Set<String>]>([:])
    let tls: OriginTLS
    let probes = OriginProbes()
    let telemetry: OriginTelemetry
    let tracer: RequestTracer?

    /// The values of the label `origin`, for the engine's metrics.
    package var originLabels: OriginLabels { telemetry.labels }

    /// The durations of requests to origins, and the origin connections.
    public var metrics: any MetricsCollector { telemetry }

    /// - Parameters:
    ///   - group: the event loops for connections.
    ///   - tracer: creates a span for each request of a recorded trace; `nil` for none.
    /// - Throws: ``TrustFailure`` if a route's origin uses https and the trusted certificates
    ///   cannot be loaded; ``FileFailure`` for a file of ``Configuration/origins``.
    public init(
        configuration: Configuration = Configuration(),
        group: any EventLoopGroup,
        logger: Logger,
        tracer: RequestTracer? = nil
    ) throws {
        self.tracer = tracer
        self.configuration = configuration
        self.group = group
        self.logger = logger
        let origins = try Self.read(configuration, since: nil)
        self.routesInUse = Mutex(RoutesInUse(configuration.routes, origins))
        self.pool = OriginPool(limit: configuration.maximumIdleConnections) { endpoint in
            logger.warning(
                "Origin sent bytes after the end of a response; not reusing its connections",
                metadata: [
                    "origin.authority": "\(endpoint)",
                    "origin.seconds": "\(SuspectOrigins.time.nanoseconds / 1_000_000_000)",
                ]
            )
        }
        telemetry = OriginTelemetry(pool, configuration.routes, origins)
        tls = OriginTLS(trustRootsFile: configuration.trustRootsFile)
        if let routes = configuration.routes { try tls.prepare(for: routes, origins) }
    }

    /// Closes idle connections, and keeps no more. Exchanges in progress continue.
    public func shutDown() async {
        probes.close()
        for connection in pool.close() { try? await connection.close().get() }
    }

    /// See `Transport`. Event loop timers enforce the timeouts.
    public var keepsTimeouts: Bool { true }

    /// See `TransportCallbacks`. They must be used on one of the group's event loops.
    public var callbacks: TransportCallbacks? { TransportCallbacks { self.begin($0, $1) } }

    /// See `Transport`.
    ///
    /// - Throws: `TransportError`
    @concurrent
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let routes = routesInUse.withLock { $0.routes(for: request.head) }
        let (request, span) = traced(request)
        defer { span?.end() }
        let endpoint = try OriginRequest.endpoint(of: request, routes: routes)
        let site = routes?.origins.site(of: endpoint)
        var message = try OriginRequest.make(request, to: endpoint, site?.servers[0], times: routes?.origins.times)
        try await message.collectContent()
        if let site, site.choosesServers {
            var request = request
            request.body = message.body
            let call = FailoverCall(self, request, endpoint, site, isRepeatable: message.isRepeatable)
            return try await Self.result(of: call, span) { call.begin($0) }
        }
        let call = OriginCall(self, message, onInterim: request.onInformational)
        return try await Self.result(of: call, span) { call.begin(Self.counting(site, $0)) }
    }

    /// Returns a completion that also counts the outcome for an origin with one server.
    private static func counting(
        _ site: OriginSite?,
        _ completion: @escaping OriginCall.Completion
    ) -> OriginCall.Completion {
        guard let site else { return completion }
        return { result in
            site.count(result)
            completion(result)
        }
    }

    private static func result(
        of call: any TransportCall,
        _ span: RecordedSpan?,
        begin: (@escaping OriginCall.Completion) -> Void
    ) async throws -> TransportResponse {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                begin { result in
                    span?.take(result)
                    continuation.resume(with: result.map { $0.parsed })
                }
            }
        } onCancel: {
            call.cancel()
        }
    }
}

extension OriginTransport {
    private func begin(
        _ request: TransportRequest,
        _ completion: @escaping TransportCallbacks.Completion
    ) -> (any TransportCall)? {
        // If the request is not sent from here, its span is dropped, because 'send' creates another
        // span.
        let (request, span) = traced(request)
        let routes = routesInUse.withLock { $0.routes(for: request.head) }
        guard request.body == nil, request.upgrade == nil,
            let eventLoop = MultiThreadedEventLoopGroup.currentEventLoop,
            let endpoint = try? OriginRequest.endpoint(of: request, routes: routes)
        else { return nil }
        var completion = completion
        if let span {
            completion = { [completion] result in
                span.take(result)
                span.end()
                completion(result)
            }
        }
        if let site = routes?.origins.site(of: endpoint), site.choosesServers {
            guard request.head.method.isSafe else { return nil }
            let call = FailoverCall(self, request, endpoint, site, isRepeatable: true)
            call.begin(on: eventLoop, completion)
            return call
        }
        return begin(request, to: endpoint, routes, on: eventLoop, completion)
    }

    private func begin(
        _ request: TransportRequest,
        to endpoint: OriginEndpoint,
        _ routes: RoutesInUse.Shared?,
        on eventLoop: any EventLoop,
        _ completion: @escaping TransportCallbacks.Completion
    ) -> (any TransportCall)? {
        let site = routes?.origins.site(of: endpoint)
        let times = routes?.origins.times
        guard let message = try? OriginRequest.make(request, to: endpoint, site?.servers[0], times: times) else {
            return nil
        }
        let kept: OriginConnection?
        switch pool.takeOwn(message.endpoint, of: eventLoop) {
        case .connection(let connection): kept = connection
        case .others: return nil
        case .none: kept = nil
        }
        let call = OriginCall(self, message, onInterim: request.onInformational)
        call.begin(on: eventLoop, kept, Self.counting(site, completion))
        return call
    }
}

extension CallbackResponse {
    fileprivate var parsed: TransportResponse {
        switch self {
        case .response(let response): response
        case .relayed(let relayed): TransportResponse(head: relayed.parsedHead(), body: BodyStream(relayed.content))
        }
    }
}
