public import HTTPCacheSemantics
public import HTTPTypes

/// The response to a ``CacheRequest``: one head, one body, and how it was produced.
public struct CacheResponse: Sendable {
    /// Where the body's bytes come from.
    public enum Source: String, Sendable, Hashable {
        /// A stored response was served without the origin.
        case store
        /// The origin responded: with this body, or with a 304 that freshened the stored one.
        case network
        /// Neither: a plugin of the request layer created it because there was no response. The
        /// engine's own responses never have this source.
        case substitute
    }

    /// Status and fields; a stored response has its current `Age`.
    public var head: HTTPResponse
    /// See ``BodyStream``: it throws if the body is cut short.
    public var body: BodyStream
    /// See ``Source``.
    public var source: Source
    /// Milliseconds since the origin generated or last validated the response (RFC 9111 §4.2.3).
    public var age: Int64
    /// Whether it is past its freshness lifetime, or invalidated.
    public var isStale = false
    /// Whether the origin responded with 304, so the body is the stored one.
    public var isValidated = false
    /// The underlying stored response, if there already is one.
    public var stored: StoredResponse?
    /// The result in RFC 9211's terms.
    public var outcome: CacheOutcome
    /// The redirects that led here; `nil` if there were none. The engine follows none, so its own
    /// responses never have any.
    package var redirects: FollowedRedirects?
    /// The request, and the responses stored when it arrived, for the offline forecast.
    package var forecastSubject: OfflineForecast.Subject?
}

extension CacheResponse {
    /// A relayed response whose head is parsed after all. Only responses that forbid storing are
    /// relayed.
    package init(_ relayed: any RelayedResponse) {
        self.init(
            head: relayed.parsedHead(),
            body: BodyStream(relayed.content),
            source: .network,
            age: 0,
            outcome: CacheOutcome(forward: .uriMiss, notStored: .responseNoStore)
        )
    }
}
