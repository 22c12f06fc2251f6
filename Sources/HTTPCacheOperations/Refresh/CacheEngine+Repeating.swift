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
        for field in HTTPFields(clientScheme: scheme) where !head.headerFields.contains(field.name) {
            head.headerFields.append(field)
        }
        return CacheRequest(head: head)
    }
}
