/// The redirects that led to a response, as the request layer followed them.
///
/// A class, because a response is copied often and rarely has redirects.
package final class FollowedRedirects: Sendable {
    /// The requests that were redirected, in order. The first is the caller's request.
    package let requests: [CacheRequest]
    /// The request that led to the response.
    package let last: CacheRequest
    /// Whether one of the redirects was served although it was invalidated.
    package let isInvalidated: Bool

    package init(of requests: [CacheRequest], to last: CacheRequest, isInvalidated: Bool) {
        self.requests = requests
        self.last = last
        self.isInvalidated = isInvalidated
    }
}
