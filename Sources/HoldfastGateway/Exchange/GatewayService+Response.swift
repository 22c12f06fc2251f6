import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import Logging
import NIOCore

/// Converts the cache's response to a client response.
extension GatewayService {
    /// The configuration and the facts about the client that a response's head depends on.
    struct ResponseContext {
        let inForce: ConfigurationInForce
        /// Whether the client may see why it gets this response.
        let showsDetails: Bool
        /// The ID of the client's request; `nil` if requests have none.
        var requestID: String?

        init(_ inForce: ConfigurationInForce, _ client: ClientAdmission?) {
            self.inForce = inForce
            showsDetails =
                !inForce.configuration.hidesCacheStatusDetails
                || client?.isTrusted(by: inForce.configuration) == true
        }
    }

    /// Returns the response to a rejected request or a failed exchange.
    ///
    /// - Parameters:
    ///   - client: the client that sent the request.
    ///   - route: the request's route, if one was chosen.
    func response(
        to error: any Error,
        _ context: ResponseContext,
        of request: GatewayRequest,
        from client: GatewayClient,
        on route: ProblemRoute? = nil
    ) -> GatewayResponse {
        if error is PurgeForGateway { return purgeRefusal(context) }
        if error is OptionsForGateway { return .whole(optionsHead(context), ByteBuffer()) }
        let reader = ProblemReader(request, client, context.inForce.configuration, on: route, engine.contacts)
        let problem = problem(error, for: reader).shown(isTrusted: reader.isTrusted)
        switch problem.code {
        case Problem.Own.unknownHost.rawValue: unknownHosts.note(request.authority, at: clock.now())
        case Problem.Own.forbiddenHost.rawValue:
            unknownHosts.note(request.authority, isForwarded: true, at: clock.now())
        default: break
        }
        let (head, content) = problemResponse(problem, context, error, for: reader)
        return .whole(head, content)
    }

    private func problem(_ error: any Error, for reader: ProblemReader) -> Problem {
        switch error {
        case let rejection as Rejection:
            return rejection.problem
        case let refusal as any RequestRefusal:
            return Problem(refusal)
        case let error as ExchangeError:
            return error.refusedContent.map { Problem($0) }
                ?? Problem(error, of: reader.url, showsOrigin: reader.isTrusted)
        default:
            logger.error("Exchange failed unexpectedly", metadata: ["error": "\(error)"])
            return .unexpected
        }
    }

    /// Returns the methods that the gateway forwards, for `Allow`: all known methods except
    /// CONNECT, and TRACE only if configured.
    private static func allowedMethods(_ context: ResponseContext) -> String {
        "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, \(context.inForce.configuration.forwardsTrace ? "TRACE, " : "")QUERY"
    }

    /// Returns the head of the response to OPTIONS for the gateway itself. It lists the methods
    /// that the gateway forwards. RFC 9110 §9.3.7
    private func optionsHead(_ context: ResponseContext) -> GatewayResponseHead {
        var head = HTTPResponse(status: .noContent)
        head.headerFields[.allow] = Self.allowedMethods(context)
        head.headerFields[.cacheControl] = "no-store"
        return responseHead(head, ExchangeFacts(CacheOutcome(detail: CacheOutcome.Detail("gateway"))), context)
    }

    /// Returns the response that reports a problem.
    ///
    /// - Parameters:
    ///   - context: `nil` for a client that has sent no valid request.
    ///   - error: the cache's error, if the request reached the cache.
    ///   - reader: the client that sent a valid request. It may get an HTML page.
    func problemResponse(
        _ problem: Problem,
        _ context: ResponseContext? = nil,
        _ error: (any Error)? = nil,
        for reader: ProblemReader? = nil
    ) -> (head: GatewayResponseHead, content: ByteBuffer) {
        let context = context ?? ResponseContext(inForce, nil)
        var fields: HTTPFields = [.contentType: "application/problem+json"]
        let body: ByteBuffer
        if let reader, reader.prefersHTML {
            let (page, routePage) = (reader.page(of: problem, context.requestID), reader.routePage(for: problem))
            body = page.html(routePage)
            fields = Self.fields(of: page, isOwn: routePage == nil)
        } else {
            body = problem.json(of: context.requestID)
        }
        // 'no-store' is enough for caches that obey it. Some are configured to store errors anyway.
        if reader != nil { fields[.vary] = "Accept" }
        // A response to HEAD states the length that a GET would have.
        fields[.contentLength] = String(body.readableBytes)
        fields[.cacheControl] = "no-store"
        for field in problem.fields { fields.append(field) }
        if let seconds = problem.retryAfter { fields[.retryAfter] = String(seconds) }
        // RFC 9110 §15.5.6
        if problem.status == 405 { fields[.allow] = Self.allowedMethods(context) }
        let head = HTTPResponse(status: HTTPResponse.Status(code: problem.status), headerFields: fields)
        var response = responseHead(
            head,
            ExchangeFacts(problem.outcome, problem: problem.code, error: error),
            context
        )
        // A challenge of a proxy behind this gateway does not pass, but this one is its own.
        if problem.status == Problem.proxyPasswordStatus {
            response.response.headerFields[.proxyAuthenticate] = #"Basic realm="holdfast""#
        }
        return (response, body)
    }

    /// Returns the fields of a problem's page. A route's own page may need scripts and images, so
    /// only the gateway's page has a policy.
    private static func fields(of page: ProblemPage, isOwn: Bool) -> HTTPFields {
        var fields: HTTPFields = [.contentType: "text/html; charset=utf-8", .xContentTypeOptions: "nosniff"]
        if isOwn { fields[.contentSecurityPolicy] = ProblemPage.securityPolicy }
        if page.retries {
            fields[.retryAfter] = String(ProblemPage.retryInterval)
            // As a field, it also works for a route's own page, and only for the methods that may
            // be repeated.
            fields[.refresh] = String(ProblemPage.retryInterval)
        }
        return fields
    }

    /// Returns the head that a client gets. It has the fields of every response: `Via`, `Date` (RFC
    /// 9110 §6.6.1), and the gateway's `Cache-Status` after those of caches closer to the origin
    /// (RFC 9211 §2).
    func responseHead(
        _ head: HTTPResponse,
        _ facts: ExchangeFacts,
        _ context: ResponseContext
    ) -> GatewayResponseHead {
        var head = head
        // A 426 names the protocols that the origin requires. RFC 9110 §15.5.22
        let upgrades = head.status.code == 426 ? head.headerFields[fields: .upgrade] : []
        head.headerFields = ForwardedFields.ofResponse(head.headerFields)
        for field in upgrades { head.headerFields.append(field) }
        // The origin's ID may belong to another client's request.
        if let id = context.requestID { head.headerFields[.xRequestID] = id }
        if !head.headerFields.contains(.date) {
            head.headerFields.append(HTTPField(name: .date, value: date))
        }
        if context.showsDetails {
            head.headerFields.dropUnreadableCacheStatus()
        } else {
            // This client does not see other caches' entries either.
            head.headerFields[.cacheStatus] = nil
        }
        let outcome = context.showsDetails ? facts.outcome : Self.withoutDetails(facts.outcome)
        let member = outcome.cacheStatusMember()
        return GatewayResponseHead(
            response: head,
            facts: facts,
            via: context.inForce.via,
            cacheStatus: member.text,
            timeToLive: member.timeToLive,
            isForOneClient: context.requestID != nil
        )
    }

    /// Returns the part of an outcome that every client may see.
    private static func withoutDetails(_ outcome: CacheOutcome) -> CacheOutcome {
        CacheOutcome(isHit: outcome.isHit, forward: outcome.isHit ? nil : .miss)
    }

    fileprivate static let detailedMiss = CacheOutcome.uriMiss.cacheStatus()
    fileprivate static let miss = withoutDetails(.uriMiss).cacheStatus()
}

extension GatewayService.ResponseContext {
    /// The gateway's member of `Cache-Status` for relayed responses.
    var relayedCacheStatus: String { showsDetails ? GatewayService.detailedMiss : GatewayService.miss }
}

extension ExchangeError {
    /// The reason why the client's content was rejected; `nil` if the exchange failed for another
    /// reason.
    fileprivate var refusedContent: (any RequestRefusal)? {
        if let refusal = cause as? any RequestRefusal { return refusal }
        // A malformed origin response is also a `RequestRefusal`, but with the code
        // `protocolViolation`. The client is not at fault.
        guard let error = cause as? TransportError, error.code == .cancelled else { return nil }
        return error.cause as? any RequestRefusal
    }
}

extension Problem {
    fileprivate static let unexpected = Problem(
        .internal,
        title: "The gateway failed",
        status: 500,
        detail: "The exchange failed unexpectedly. The gateway's log has the error.",
        outcome: CacheOutcome()
    )
}
