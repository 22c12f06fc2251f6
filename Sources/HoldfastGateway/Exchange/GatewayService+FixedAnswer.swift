import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastConfiguration
import NIOCore

/// Serves requests for routes with `respond`.
extension GatewayService {
    /// Returns the response with a fixed answer. It is not stored anywhere, because it may depend
    /// on more than the URL, and because a reload can change it.
    func response(
        with answer: FixedAnswer,
        to request: GatewayRequest,
        _ context: ResponseContext
    ) -> GatewayResponse {
        let content = ByteBuffer(string: answer.body)
        var head = HTTPResponse(status: HTTPResponse.Status(code: answer.status))
        head.headerFields[.location] = answer.location(for: request.target)
        if !answer.body.isEmpty {
            head.headerFields[.contentType] = answer.contentType ?? "text/plain; charset=utf-8"
            head.headerFields[.xContentTypeOptions] = "nosniff"
        }
        // A 204 has no length. RFC 9110 §8.6
        if answer.status != 204 { head.headerFields[.contentLength] = String(content.readableBytes) }
        head.headerFields[.cacheControl] = "no-store"
        let facts = ExchangeFacts(CacheOutcome(detail: CacheOutcome.Detail("respond")))
        return .whole(responseHead(head, facts, context), content)
    }
}

extension ConfigurationInForce {
    /// Returns the route whose fixed answer a request gets; `nil` if the request is forwarded.
    func fixedRoute(of request: GatewayRequest, from client: GatewayClient) -> FixedRoutes.Choice? {
        guard !configuration.fixedRoutes.isEmpty, request.target != "*" else { return nil }
        return configuration.fixedRoutes.choose(
            request,
            scheme: client.statedScheme(of: request.fields, by: configuration),
            before: configuration.routes
        )
    }
}
