/// The reasons not to store a response. RFC 9111 §3
public enum StorageRefusal: String, Sendable, Hashable, CaseIterable {
    /// HEAD, an unsafe method, or a method whose content is not in the key.
    case method
    /// 1xx.
    case statusNotFinal
    /// Not 200 … 599, or `must-understand` with a status this cache does not know.
    case statusNotUnderstood
    /// The status concerns the request's credentials, conditions, range or rate, not its target
    /// (401, 412, 416, 429, …), or is 304.
    case statusAboutRequest
    /// A client's malformed request can provoke the status for a good target (400, 405, 414, 501,
    /// …), and no rule names it: ``PolicyOverrides/statuses``.
    case statusProvoked
    /// A 206 that cannot be combined with the stored response, or that does not identify its
    /// representation.
    case partialContent
    /// The request has `no-store`.
    case requestNoStore
    /// The response has `no-store`, and no rule lifts it:
    /// ``PolicyOverrides/directivesIgnoredWhenStale``.
    case responseNoStore
    /// `private` in a shared cache.
    case privateResponse
    /// The request had credentials and the response does not allow a shared cache to store it
    /// (RFC 9111 §3.5), or the response repeats a secret of the request.
    case authorization
    /// Nothing permits storing, and the status is not heuristically cacheable.
    case notExplicit
    /// `Vary: *`, or a malformed `Vary`.
    case varyAny
    /// `Set-Cookie` in a shared cache that is not configured to store it, or without `public` and
    /// `s-maxage`. Also `Set-Cookie` beside a lifted `no-store`, in a response to a request without
    /// credentials.
    case setCookie
    /// An operator's rule allows other statuses only: ``PolicyOverrides/statuses``.
    case rule

    // MARK: Reasons that lie outside RFC 9111

    /// The request bypasses the store, because its caller or a rule wants that.
    case bypass
    /// An event stream: it has no end for which a later reader could wait.
    case endless
    /// The response is an error, and an error does not replace the stored success.
    case storedSuccess
    /// The response looks wrong compared with the stored one, which a guard keeps.
    case guarded
    /// The body is longer or shorter than a rule or the caller's check allows.
    case bodyLength
    /// It has more tags than a store keeps, a longer one, or forbids that the field with its tags
    /// is stored. A purge by a tag would not reach it.
    case tags
    /// Bytes followed the end of the response, so its end is unclear.
    case unclearEnd
    /// The store rejected it: it is full, closed or failing, or the body is too large for it.
    case store
}
