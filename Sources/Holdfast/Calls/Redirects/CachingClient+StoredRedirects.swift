import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension CachingClient {
    /// Returns a request and the requests that stored redirects lead to, at most ten.
    ///
    /// All variants of a stored redirect count, fresh or not: a value is out of date only if every
    /// response that a lookup may find on the way to it is out of date. If the store cannot be
    /// read, no redirect can be served from it either.
    func requestsWithStoredRedirects(from first: CacheRequest) async -> [CacheRequest] {
        guard first.followsRedirects else { return [first] }
        var requests = [first]
        var seen: Set<TargetURI> = []
        var next = 0
        while next < requests.count {
            let request = requests[next]
            next += 1
            for key in lookupKeys(of: request) {
                for stored in (try? await store.responses.lookup(key)) ?? [] {
                    let head = HTTPResponse(status: stored.head.status, headerFields: stored.head.fields)
                    let made = Redirect.make(of: head, to: request.head, secretFields: request.secretFields)
                    guard case .success(let redirect)? = made, requests.count <= RedirectChain.limit,
                        seen.insert(redirect.target).inserted
                    else { continue }
                    requests.append(request.redirected(to: redirect))
                }
            }
        }
        return requests
    }
}
