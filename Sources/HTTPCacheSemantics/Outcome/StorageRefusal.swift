/// The reason for not storing a response. RFC 9111 §3
public enum StorageRefusal: String, Sendable, Hashable, CaseIterable {
    /// HEAD, an unsafe method, or a method whose content is not in the key.
    case method
    /// The status is 1xx.
    case statusNotFinal
    /// The status is outside 200 to 599, or the response has `must-understand` and this cache does
    /// not know the status.
    case statusNotUnderstood
    /// The status concerns the request's credentials, conditions, range or rate rather than its
    /// target (401, 412, 416, 429, …), or is 304.
    case statusAboutRequest
    /// A client's malformed request can provoke the status for a good target (400, 405, 414, 501,
    /// …), and no rule lists it: ``PolicyOverrides/statuses``.
    case statusProvoked
    /// A 206 that cannot be combined with the stored response, that does not identify its
    /// representation, or that a caller wants to check.
    case partialContent
    /// The request has `no-store`.
    case requestNoStore
    /// The response has `no-store`, and no rule overrides it:
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
    /// `s-maxage`. Also `Set-Cookie` together with an overridden `no-store`, in a response to a
    /// request without credentials.
    case setCookie
    /// An operator's rule allows only other statuses: ``PolicyOverrides/statuses``.
    case rule

    // MARK: Reasons outside RFC 9111

    /// The request bypasses the store, as its caller or a rule requires.
    case bypass
    /// The response is an event stream, which has no end for a later reader to wait for.
    case endless
    /// The response was cut short: by its origin, or, if it is an event stream, also because its
    /// last client disconnected. Known only at its end.
    case cutShort
    /// The response is an event stream whose last event does not hold the text that a rule
    /// requires. Known only at its end.
    case lastEvent
    /// The response is an error, which does not replace the stored success, or redirects a refresh
    /// of a purged 2xx.
    case storedSuccess
    /// The response looks wrong compared with the stored response, which a guard keeps.
    case guarded
    /// The body is longer or shorter than a rule or the caller's check allows.
    case bodyLength
    /// The response was not asked for as often as an operator's rule requires.
    case fewUses
    /// The response has too many tags or too long a tag for the store, or its tag field must not be
    /// stored. A purge by tag would miss it.
    case tags
    /// Bytes followed the end of the response, so its end is ambiguous.
    case unclearEnd
    /// The store did not keep the response: for example, it is full, closed, read-only or failing,
    /// or the body is too large.
    case store
}
