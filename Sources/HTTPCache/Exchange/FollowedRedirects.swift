/// The redirects that led to a response, as the request layer followed them.
///
/// A class, because a response is copied often and rarely has any.
package final class FollowedRedirects: Sendable {
    /// The redirected requests, in order. The first is the caller's.
    package let requests: [CacheRequest]
    /// The request that the response is to.
    package let last: CacheRequest
    /// Whether one of the redirects was served although it was invalidated.
    package let isInvalidated: Bool

    package init(of requests: [CacheRequest], to last: CacheRequest, isInvalidated: Bool) {
        self.requests = requests
        self.last = last
        self.isInvalidated = isInvalidated
    }
}
