import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// Serves requests for ``GatewayConfiguration/healthPath``, ``GatewayConfiguration/livePath`` and
/// ``GatewayConfiguration/readyPath``. They are not routed, forwarded or counted as exchanges.
extension GatewayService {
    /// Returns the response to a health check: the status in one word, without details about
    /// origins or the store.
    func healthResponse(
        _ check: HealthCheck,
        _ request: GatewayRequest,
        _ context: ResponseContext
    ) async -> GatewayResponse {
        guard request.method == .get || request.method == .head else {
            var (head, content) = problemResponse(.healthMethod, context)
            head.response.headerFields[.allow] = "GET, HEAD"
            return .whole(head, content)
        }
        let status = await health[check].status()
        let content = ByteBuffer(string: #"{"status":"\#(status.rawValue)"}"# + "\n")
        var head = HTTPResponse(status: HTTPResponse.Status(code: status.httpStatus))
        head.headerFields[.contentType] = "application/json"
        // A response to HEAD states the length that a GET would have.
        head.headerFields[.contentLength] = String(content.readableBytes)
        head.headerFields[.cacheControl] = "no-store"
        let facts = ExchangeFacts(CacheOutcome(detail: CacheOutcome.Detail("gateway")))
        return .whole(responseHead(head, facts, context), content)
    }
}

extension ConfigurationInForce {
    /// Returns the health check that a request asks for, regardless of its host, query and method.
    func healthCheck(_ request: GatewayRequest) -> HealthCheck? {
        if let path = configuration.healthPath, request.hasPath(path) { return .all }
        if let path = configuration.livePath, request.hasPath(path) { return .live }
        if let path = configuration.readyPath, request.hasPath(path) { return .ready }
        return nil
    }
}

extension GatewayRequest {
    /// Whether the target has this path, byte by byte, with or without a query.
    fileprivate func hasPath(_ path: String) -> Bool {
        let (target, path) = (target.utf8, path.utf8)
        guard target.starts(with: path) else { return false }
        return target.count == path.count || target.dropFirst(path.count).first == UInt8(ascii: "?")
    }
}

extension Problem {
    fileprivate static let healthMethod = Problem(
        .methodNotAllowed,
        title: "The method is not allowed",
        status: 405,
        detail: "This path shows the gateway's health ('health.path', 'health.live', 'health.ready'). Use GET or HEAD."
    )
}
