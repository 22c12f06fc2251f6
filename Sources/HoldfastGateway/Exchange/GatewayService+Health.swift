import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// Serves requests for ``GatewayConfiguration/healthPath``. They are not routed, forwarded or
/// counted as exchanges.
extension GatewayService {
    /// Whether a request is for the gateway's health, regardless of its host, query and method.
    func isHealthCheck(_ request: GatewayRequest, _ inForce: ConfigurationInForce) -> Bool {
        guard let path = inForce.configuration.healthPath?.utf8 else { return false }
        let target = request.target.utf8
        guard target.starts(with: path) else { return false }
        return target.count == path.count || target.dropFirst(path.count).first == UInt8(ascii: "?")
    }

    /// Returns the response to a health check: the status in one word, without details about
    /// origins or the store.
    func healthResponse(_ request: GatewayRequest, _ context: ResponseContext) async -> GatewayResponse {
        guard request.method == .get || request.method == .head else {
            var (head, content) = problemResponse(.healthMethod, context)
            head.response.headerFields[.allow] = "GET, HEAD"
            return .whole(head, content)
        }
        let status = await health.status()
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

extension Problem {
    fileprivate static let healthMethod = Problem(
        .methodNotAllowed,
        title: "The method is not allowed",
        status: 405,
        detail: "This path shows the gateway's health ('health.path'). Use GET or HEAD."
    )
}
