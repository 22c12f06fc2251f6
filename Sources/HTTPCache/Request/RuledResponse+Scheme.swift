import HTTPCacheSemantics
import HTTPTypes

extension RuledResponse {
    /// Returns whether any client of a gateway finds the response, as far as schemes decide.
    ///
    /// A response without a scheme was stored while all clients used the same one. No client finds
    /// it once both schemes reach the gateway.
    ///
    /// - Parameter schemes: the schemes that clients use; empty for a library.
    package func isFound(byClientsUsing schemes: Set<String>) -> Bool {
        if schemes.isEmpty { return true }
        let isSelecting = schemes.count > 1
        if let recorded = head.selectingFields[.clientScheme], recorded.contains(ClientScheme.separator) {
            // Proxies in front added more, and may do so again. Only trusted proxies can.
            return isSelecting
        }
        return schemes.contains { scheme in
            isFound(byClientPresenting: HTTPFields(clientScheme: scheme), isSelecting: isSelecting)
        }
    }

    /// Returns whether a client of the gateway's forward proxy finds the response, as far as
    /// schemes decide. The proxy tells origins no scheme, so its responses are stored without one.
    ///
    /// - Parameter schemes: see ``isFound(byClientsUsing:)``.
    package func isFoundByProxyClients(ofGatewayServing schemes: Set<String>) -> Bool {
        isFound(byClientPresenting: [:], isSelecting: schemes.count > 1)
    }

    /// - Parameter isSelecting: whether clients of both schemes reach the gateway.
    private func isFound(byClientPresenting fields: HTTPFields, isSelecting: Bool) -> Bool {
        var presented = request
        presented.headerFields = fields
        var sent = presented
        rules.settings.requestFields.withhold(from: &sent.headerFields)
        var policy = policy
        if isSelecting {
            let client = ClientScheme(
                CacheRequest(head: presented),
                sentAs: CacheRequest(head: sent),
                rules.settings
            )
            switch client {
            case .irrelevant: break
            case .stated: policy.selectsByScheme = true
            case .selecting(let field):
                policy.selectsByScheme = true
                sent.headerFields[fields: .clientScheme] = field.map { [$0] } ?? []
            }
        }
        return policy.matchesScheme(head, sent)
    }
}
