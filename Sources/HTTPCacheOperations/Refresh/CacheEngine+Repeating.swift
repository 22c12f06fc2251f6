import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension CacheEngine {
    /// Returns a request that repeats a client's request. If all clients use the same scheme, the
    /// request states it, because an origin that requires https redirects requests that do not.
    ///
    /// - Parameter head: the target and the selecting fields.
    func repeating(_ head: HTTPRequest) -> CacheRequest {
        guard let scheme = clientsScheme else { return CacheRequest(head: head) }
        var head = head
        if !head.headerFields.contains(.clientScheme) { head.headerFields[.clientScheme] = scheme }
        if let forwarded = HTTPField.Name("Forwarded"), !head.headerFields.contains(forwarded) {
            head.headerFields[forwarded] = "proto=\(scheme)"
        }
        return CacheRequest(head: head)
    }
}
