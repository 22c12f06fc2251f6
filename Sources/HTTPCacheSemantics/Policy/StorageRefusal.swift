/// The named reasons not to store a response. RFC 9111 §3
public enum StorageRefusal: String, Sendable, Hashable, CaseIterable {
    /// HEAD, an unsafe method, or one whose content is not in the key.
    case method
    /// 1xx.
    case statusNotFinal
    /// Not 200 … 599, or `must-understand` with a status this cache does not know.
    case statusNotUnderstood
    /// The status answers the request's credentials, conditions, range or rate, not its target
    /// (401, 412, 416, 429, …), or is 304.
    case statusAboutRequest
    /// A client's malformed request can provoke the status of a good target (400, 405, 414, 501,
    /// …), and no rule names it: ``PolicyOverrides/statuses``.
    case statusProvoked
    /// 206, which cannot be combined with what is stored, or not be told from which whole it is.
    case partialContent
    /// The request says `no-store`.
    case requestNoStore
    /// The response says `no-store`, and no rule lifts it: ``PolicyOverrides/staleDespite``.
    case responseNoStore
    /// `private` in a shared cache.
    case privateResponse
    /// The request had credentials and the response does not allow a shared cache to store it
    /// (RFC 9111 §3.5), or the response repeats a secret of the request.
    case authorization
    /// Nothing says that it may be stored, and its status is not heuristically cacheable.
    case notExplicit
    /// `Vary: *`, or a `Vary` that cannot be read.
    case varyAny
    /// `Set-Cookie` in a shared cache that was not told to store it, or without `public` and
    /// `s-maxage`; or beside a `no-store` that was lifted, in a response to a request without
    /// credentials.
    case setCookie
    /// An operator's rule stores other statuses only: ``PolicyOverrides/statuses``.
    case rule

    // MARK: Reasons that lie outside RFC 9111

    /// The request goes past the store, because its caller or a rule wants that.
    case bypass
    /// An event stream: it has no end that a later reader could wait for.
    case endless
    /// An error, and a success is stored that no error replaces.
    case storedSuccess
    /// It looks wrong beside what is stored, and a guard keeps that.
    case guarded
    /// Its body is longer or shorter than a rule or the caller's check lets be stored.
    case bodyLength
    /// Bytes came behind its end, so that nothing says where it ends.
    case unclearEnd
    /// The store could not take it: it is full, closed or failing, or the body is too large for it.
    case store
}
