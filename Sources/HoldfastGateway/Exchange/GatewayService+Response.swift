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
    /// - Parameter client: the client that sent the request.
    func response(
        to error: any Error,
        _ context: ResponseContext,
        of request: GatewayRequest,
        from client: GatewayClient
    ) -> GatewayResponse {
        if error is PurgeForGateway { return purgeRefusal(context) }
        if error is OptionsForGateway { return .whole(optionsHead(context), ByteBuffer()) }
        let reader = ProblemReader(request, client, context.inForce.configuration)
        let (head, content) = problemResponse(problem(error, for: reader), context, error)
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
    func problemResponse(
        _ problem: Problem,
        _ context: ResponseContext? = nil,
        _ error: (any Error)? = nil
    ) -> (head: GatewayResponseHead, content: ByteBuffer) {
        let context = context ?? ResponseContext(inForce, nil)
        let body = problem.json(of: context.requestID)
        var head = HTTPResponse(status: HTTPResponse.Status(code: problem.status))
        head.headerFields[.contentType] = "application/problem+json"
        // A response to HEAD states the length that a GET would have.
        head.headerFields[.contentLength] = String(body.readableBytes)
        head.headerFields[.cacheControl] = "no-store"
        // RFC 9110 §15.5.6
        if problem.status == 405 { head.headerFields[.allow] = Self.allowedMethods(context) }
        return (responseHead(head, ExchangeFacts(problem.outcome, problem: problem.code, error: error), context), body)
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
