/// Which redirects a client follows: responses with status 301, 302, 303, 307 or 308 and a
/// `Location`. RFC 9110 §15.4
///
/// * **Each hop is a request of its own**: it has its own key, is looked up, sent, stored and
///   retried like any other. So a stored redirect to a stored response is served without the
///   network. The endpoint's `storage`, `rule`, `offlineReads`, `tags` and principal apply to each.
/// * **The call is one**: its timeout covers all hops, plugins prepare its first request only, and
///   at most ten redirects are followed.
/// * **Method**: 307 and 308 keep method and content. 303 leads to a GET, and so do 301 and 302
///   after POST.
/// * **Another origin** gets no credentials and no secrets: only fields that describe the content
///   and the wanted response, such as `Accept`, `Range` and `User-Agent`. They are not added again
///   if a later redirect leads back.
/// * **Failures**: a loop, an eleventh redirect, an invalid `Location` (with user information, or
///   with another scheme than `http` and `https`) and a redirect from `https` to `http` have the
///   code ``HoldfastError/Code/redirectFailed``. Strategies that may use the store then do.
/// * **Not followed** are the statuses that the call accepts: with `acceptedStatuses` of `[302]`, a
///   302 is the response.
public enum RedirectPolicy: Sendable, Hashable {
    /// None: a redirect is a response like any other, and rejected unless the endpoint accepts its
    /// status.
    case never
    /// Those of requests that change nothing. A redirect of a mutation is not followed, because
    /// the mutation could take effect twice or at another origin.
    case reads
    /// Those of mutations too. After 307 and 308 their content is sent again, to another origin if
    /// the redirect leads there.
    case always

    /// - Parameter isMutation: whether the request changes something at the origin.
    func follows(isMutation: Bool) -> Bool {
        switch self {
        case .never: false
        case .reads: !isMutation
        case .always: true
        }
    }
}
