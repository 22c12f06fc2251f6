/// Which redirects a client follows. A redirect is a response with status 301, 302, 303, 307 or 308
/// and a `Location`. RFC 9110 §15.4
///
/// * **Each hop is a separate request**: it has its own key, and is looked up, sent, stored and
///   retried like any other request. A stored redirect to a stored response is therefore served
///   without the network. The endpoint's `storage`, `rule`, `offlineReads`, `tags` and principal
///   apply to each hop.
/// * **The hops are one call**: its timeout covers all hops, plugins prepare only its first
///   request, and at most ten redirects are followed.
/// * **Method**: 307 and 308 keep the method and content. 303 leads to a GET (or a HEAD after a
///   HEAD). After a POST, 301 and 302 also lead to a GET.
/// * **Another origin** gets no credentials and no secrets. It gets only fields that describe the
///   content and the requested response, such as `Accept`, `Range` and `User-Agent`. The other
///   fields are not added again if a later redirect leads back.
/// * **Failures**: a loop, an eleventh redirect, an invalid `Location` (with user information, or
///   with a scheme other than `http` and `https`), a redirect from `https` to `http`, and a
///   redirect that requires sending content that can be read only once have the code
///   `HoldfastError.Code.redirectFailed`. Strategies that may use the store then use it.
/// * **Not followed**: redirects whose status the call accepts. With `acceptedStatuses` of `[302]`,
///   a 302 is the response.
public enum RedirectPolicy: Sendable, Hashable {
    /// No redirects. A redirect is a response like any other, and is rejected unless the endpoint
    /// accepts its status.
    case never
    /// Redirects of requests that change nothing. A mutation's redirect is not followed, because
    /// the mutation could take effect twice, or at another origin.
    case reads
    /// All redirects, including those of mutations. After a 307 or 308, the content is sent again,
    /// even if the redirect leads to another origin.
    case always

    /// - Parameter isMutation: whether the request changes data at the origin.
    func follows(isMutation: Bool) -> Bool {
        switch self {
        case .never: false
        case .reads: !isMutation
        case .always: true
        }
    }
}
