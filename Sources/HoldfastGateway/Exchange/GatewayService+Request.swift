import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastConfiguration
import HoldfastTracing
import NIOCore

/// Converts a client's request to a cache request.
extension GatewayService {
    /// A request that the gateway itself rejects.
    struct Rejection: Error {
        var problem: Problem
    }

    /// An OPTIONS request for this gateway itself. RFC 9110 §9.3.7
    struct OptionsForGateway: Error {}

    /// A PURGE, which is never forwarded.
    struct PurgeForGateway: Error {}

    /// Returns the request of an exchange, with its content.
    func cacheRequest(for exchange: ClientExchange, _ inForce: ConfigurationInForce) async throws -> CacheRequest {
        var known: KnownRequest?
        var request = try cacheRequest(for: exchange, inForce, like: &known)
        request.body = try await body(of: request.head, exchange, inForce.configuration)
        // Fields that the route does not allow are not forwarded as trailers either.
        if case .stream(let content) = request.body, let known,
            inForce.configuration.routes.routes[known.route].unknownFields == .drop
        {
            request.body = .stream(content.droppingTrailers { _ in true })
        }
        return request
    }

    /// A prepared cache request, kept for the client's next request with the same fields.
    ///
    /// A class, because a session without a known request should need little memory.
    final class KnownRequest {
        fileprivate let inForce: ConfigurationInForce
        fileprivate let route: Int
        fileprivate let method: HTTPRequest.Method
        fileprivate let request: CacheRequest

        fileprivate init(
            inForce: ConfigurationInForce,
            route: Int,
            method: HTTPRequest.Method,
            request: CacheRequest
        ) {
            self.inForce = inForce
            self.route = route
            self.method = method
            self.request = request
        }
    }

    /// Returns the request without its content.
    ///
    /// - Parameter known: the result for the last request with the same fields. It is replaced with
    ///   this request's result.
    func cacheRequest(
        for exchange: ClientExchange,
        _ inForce: ConfigurationInForce,
        like known: inout KnownRequest?
    ) throws -> CacheRequest {
        let head = exchange.request
        guard head.target != "*" else { throw OptionsForGateway() }
        let routes = inForce.configuration.routes
        let choice = try choice(for: head, routes)
        exchange.record.route = inForce.routeLabels[choice.route]
        let isForwarded = routes.forward(head)
        exchange.record.origin = isForwarded ? Self.originName(of: head) : inForce.originNames[choice.route]
        exchange.transforms = inForce.transforms[choice.route]
        exchange.problemRoute = inForce.problemRoutes[choice.route]
        var request: CacheRequest
        // Requests of a forward proxy with the same fields may name different origins.
        if let known, known.inForce === inForce, known.route == choice.route, known.method == head.method,
            !isForwarded
        {
            request = known.request
            request.head.path = choice.path
        } else {
            request = try cacheRequest(
                head,
                inForce,
                choice,
                from: exchange.session.admission,
                dropsTrace: exchange.trace.dropsFields
            )
            request.executionContext = .shared(exchange.session.executor)
            known = KnownRequest(inForce: inForce, route: choice.route, method: head.method, request: request)
        }
        // Set after 'known', because these values belong to this request only.
        request.requestID = exchange.record.requestID
        if exchange.rangeUse == .ignored { request.head.headerFields.dropRange() }
        if exchange.session.telemetry.log?.wantsOrigins == true {
            let report = OriginReport()
            exchange.record.originReport = report
            request.originReport = report
        }
        if routes.areAmbiguous, let target = TargetURI(request: request.head) {
            try refuseMisdirected(target, head, routes, choice)
        }
        // Most requests have no span, and passing the route copies it.
        if exchange.trace.span != nil { exchange.trace.take(routes.routes[choice.route], of: head.method) }
        if let context = exchange.trace.context { request.context = context }
        request.onInformational = { exchange.inform($0) }
        return request
    }

    /// Returns a request's route, and its path at the origin.
    ///
    /// - Throws: ``Rejection``
    func choice(for head: GatewayRequest, _ routes: GatewayRoutes) throws -> GatewayRoutes.Choice {
        try Self.choice(for: head, routes, inForce, rulesHavePaths: engine.rulesHavePaths)
    }

    /// Returns a request's route, and its path at the origin.
    ///
    /// - Throws: ``Rejection``
    static func choice(
        for head: GatewayRequest,
        _ routes: GatewayRoutes,
        _ inForce: ConfigurationInForce,
        rulesHavePaths: Bool
    ) throws(Rejection) -> GatewayRoutes.Choice {
        guard !routes.refuseDotSegments(of: head.target, rulesHavePaths: rulesHavePaths) else {
            throw Rejection(problem: .dotSegment)
        }
        guard let choice = routes.choose(for: head) else {
            let host = head.authority
            if routes.forward(head), let refusal = routes.proxy?.refusal(of: head) {
                throw Rejection(problem: .notForwarded(refusal))
            }
            // Read here, because taking it from the configuration copies the whole configuration.
            let fixedRoutes = inForce.configuration.fixedRoutes
            guard host == nil || routes.knows(host: host) || fixedRoutes.knows(host: host) else {
                throw Rejection(problem: .unknownHost)
            }
            throw Rejection(problem: .noRoute(head.authority))
        }
        return choice
    }

    /// Rejects a request that appears to be meant for another route.
    ///
    /// - Throws: ``Rejection``
    func refuseMisdirected(
        _ target: TargetURI,
        _ head: GatewayRequest,
        _ routes: GatewayRoutes,
        _ choice: GatewayRoutes.Choice
    ) throws {
        guard routes.areAmbiguous, !routes.forward(head),
            routes.endpoint(for: target) != routes.routes[choice.route].endpoint
        else { return }
        throw Rejection(problem: .misdirected(head.authority))
    }

    /// Returns the name of the origin to which a forward proxy sends a request, for the log.
    private static func originName(of request: GatewayRequest) -> String? {
        guard let scheme = request.scheme?.rawValue, let host = request.authority else { return nil }
        return "\(scheme)://\(host.authority(for: scheme))"
    }

    /// Returns the head to send to the origin. Responses are stored under its target.
    static func originHead(
        _ head: GatewayRequest,
        _ route: GatewayRoute,
        path: String,
        fields: HTTPFields
    ) -> HTTPRequest {
        HTTPRequest(
            method: head.method,
            scheme: route.origin.scheme,
            authority: route.authority(for: head.authority),
            path: path,
            headerFields: fields
        )
    }

    private func cacheRequest(
        _ head: GatewayRequest,
        _ inForce: ConfigurationInForce,
        _ choice: GatewayRoutes.Choice,
        from admission: ClientAdmission,
        dropsTrace: Bool
    ) throws -> CacheRequest {
        // 'ClientExchange' handles each PURGE before this. A PURGE never reaches an origin.
        guard head.method == .get || !head.isPurge else { throw PurgeForGateway() }
        guard inForce.configuration.forwardsTrace || !head.method.returnsRequest else {
            throw Rejection(problem: .traceNotAllowed)
        }
        guard !inForce.hasPassed(head.fields) else { throw Rejection(problem: .loop) }
        let routes = inForce.configuration.routes
        let isForwarded = routes.forward(head)
        // An origin that a client names is not one of the proxies' own.
        let isTrusted =
            admission.isTrusted(by: inForce.configuration) && (!isForwarded || routes.proxy?.isOfCommand == true)
        let passing = ForwardedFields.ofRequest(
            head.fields,
            isTrusted: isTrusted,
            underscored: inForce.configuration.underscoredFields,
            unknown: routes.routes[choice.route].unknownFields
        )
        var fields = try decrementMaxForwards(head, passing.fields)
        inForce.transforms[choice.route].adaptRequest(&fields, head.method)
        if dropsTrace {
            fields[.traceparent] = nil
            fields[.tracestate] = nil
        }
        // The ID is sent separately from the request's fields, and replaces the client's.
        if inForce.configuration.identifiesRequests { fields[.xRequestID] = nil }
        fields.append(inForce.via(of: head.receivedProtocol))
        // The client of a forward proxy is not the origin's concern.
        if !isForwarded {
            ForwardedFields.appendClient(admission.client, to: &fields, behind: isTrusted ? head.fields : [:])
        }
        var originHead = Self.originHead(head, routes.routes[choice.route], path: choice.path, fields: fields)
        // A host that is not in the key must not appear in the response, for example in a link. So
        // the host is forwarded only if it is in the key, in the same form.
        if routes.routes[choice.route].preservesHost, !isForwarded, head.authority != nil,
            let authority = originHead.authority
        {
            originHead.headerFields.append(HTTPField(name: .xForwardedHost, value: authority))
        }
        var request = CacheRequest(head: originHead, storage: passing.isStorable ? .byResponse : .never)
        request.client = admission.principal(head.fields, inForce.configuration)
        request.decodesGzip = true
        return request
    }

    /// Decrements `Max-Forwards`, clamped to the largest value that this gateway supports. RFC 9110
    /// §7.6.2
    private func decrementMaxForwards(_ head: GatewayRequest, _ passing: HTTPFields) throws -> HTTPFields {
        var fields = passing
        guard head.method == .options || head.method.returnsRequest, let text = fields[.maxForwards], !text.isEmpty,
            text.utf8.allSatisfy(\.isDigit)
        else { return fields }
        // The text has only digits, so the conversion fails only if the number does not fit in a
        // UInt64.
        let count = min(UInt64(text) ?? .max, Self.largestMaxForwards + 1)
        if count == 0, head.method == .options { throw OptionsForGateway() }
        guard count > 0 else { throw Rejection(problem: .lastForward) }
        fields[.maxForwards] = String(count - 1)
        return fields
    }

    private static let largestMaxForwards: UInt64 = 1 << 31 - 1

    private func body(
        of request: HTTPRequest,
        _ exchange: ClientExchange,
        _ configuration: GatewayConfiguration
    ) async throws -> RequestBody? {
        let reader = ExchangeContent(exchange)
        guard let content = reader.stream else { return nil }
        switch request.method.rawValue {
        case "GET", "HEAD",
            _ where request.method.returnsRequest:
            // RFC 9110 §9.3.1 gives this content no meaning. It is not in the key, so an origin
            // that reads it would poison the stored response.
            reader.discard()
            return nil
        case "QUERY":
            return try await content.limited(to: configuration.contentLimit).keyed(
                upTo: configuration.keyedContentLimit
            )
        default:
            if content.length == 0 { return .buffer(ByteBuffer()) }
            let content = try content.limited(to: configuration.contentLimit)
            // A rule may require the content in the key. Otherwise it passes as a stream.
            guard engine.mayKeyContent(of: request) else { return .stream(content) }
            return try await content.keyed(upTo: configuration.keyedContentLimit)
        }
    }
}

extension Problem {
    fileprivate static let traceNotAllowed = Problem(
        .methodNotAllowed,
        title: "The method is not allowed",
        status: 405,
        detail:
            "A response to TRACE reveals the request's fields, including those that proxies add, so nothing was forwarded.",
        advice: "To forward TRACE, set 'clients.trace' to 'forward'."
    )

    fileprivate static let lastForward = Problem(
        .lastForward,
        title: "The request may not be forwarded",
        status: 501,
        detail: "'Max-Forwards: 0' addresses the gateway itself, which has no resources of its own."
    )

    /// - Parameter host: the host that the client names.
    fileprivate static func noRoute(_ host: RequestedHost?) -> Problem {
        Problem(
            .noRoute,
            title: "No route matches",
            status: 404,
            detail:
                "No route matches this path \(host.map { "on '\($0)'" } ?? "without a host"). Nothing was forwarded.",
            outcome: CacheOutcome(detail: CacheOutcome.Detail("no-route"))
        )
    }

    /// The detail leaves the host out, because any text may be one.
    fileprivate static let unknownHost = Problem(
        .unknownHost,
        title: "No route has this host",
        status: 421,
        detail: "The host of the request belongs to no route. Nothing was forwarded.",
        outcome: CacheOutcome(detail: CacheOutcome.Detail("unknown-host"))
    )

    /// - Parameter host: the host that the client names.
    fileprivate static func misdirected(_ host: RequestedHost?) -> Problem {
        Problem(
            .misdirected,
            title: "The request belongs to another route",
            status: 421,
            detail:
                "Because the route preserves the host\(host.map { " '\($0)'" } ?? ""), this request cannot be told apart from a request to another origin. "
                + "Nothing was forwarded.",
            outcome: CacheOutcome(detail: CacheOutcome.Detail("misdirected"))
        )
    }

    fileprivate static let dotSegment = Problem(
        .dotSegment,
        title: "The path has a dot segment",
        status: 400,
        detail:
            "A segment '.' or '..', escaped or not, could evade the routes and rules that match paths. "
            + "Resolve the path before sending it (RFC 3986 §5.2.4). Nothing was forwarded."
    )

    fileprivate static let loop = Problem(
        .loop,
        title: "The request has passed this gateway before",
        status: 508,
        detail:
            "The request's 'Via' names this gateway, so an origin or a proxy in between leads back here. Correct the origin's address.",
        outcome: CacheOutcome(detail: CacheOutcome.Detail("loop"))
    )
}
