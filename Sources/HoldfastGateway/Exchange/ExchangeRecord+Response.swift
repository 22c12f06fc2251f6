import HTTPCache
import HTTPTypes
import NIOCore

extension ExchangeRecord {
    /// Copies the facts from a response.
    mutating func take(_ response: GatewayResponse) {
        switch response {
        case .stored(let head, let content, _), .whole(let head, let content): take(head, content.readableBytes)
        case .stream(let head, _): take(head, 0)
        case .relayed(let response, let context):
            (status, facts, sentBytes) = (response.status, .relayed, response.content.readableBytes)
            if span != nil { cacheStatus = context.relayedCacheStatus }
        }
        // A response to HEAD has no content.
        if request?.method == .head { sentBytes = 0 }
    }

    private mutating func take(_ head: GatewayResponseHead, _ length: Int) {
        (status, facts, sentBytes) = (head.response.status.code, head.facts, length)
        if span != nil { cacheStatus = head.cacheStatus }
    }
}
