public import HTTPCacheSemantics
public import HTTPTypes

/// The response to a ``CacheRequest``: one head, one body, and how it was produced.
public struct CacheResponse: Sendable {
    /// The source of the response.
    public enum Source: String, Sendable, Hashable {
        /// A stored response was served without the origin.
        case store
        /// The origin responded, either with this body or with a 304 that freshened the stored
        /// response.
        case network
        /// A plugin of the request layer created the response, because there was no other. The
        /// engine's own responses never have this source.
        case substitute
    }

    /// The status and the fields. A stored response has its current `Age`.
    public var head: HTTPResponse
    /// The body, which throws if it is cut short: see ``BodyStream``.
    public var body: BodyStream
    /// See ``Source``.
    public var source: Source
    /// ``age`` in milliseconds. It is stored as an integer, because every hit sets it and few
    /// callers read it.
    package var ageMilliseconds: Int64
    /// Whether the response is past its freshness lifetime, or invalidated.
    public var isStale = false
    /// Whether the origin responded with 304, so the body is the stored body.
    public var isValidated = false
    /// The underlying stored response, if there already is one.
    public var stored: StoredResponse?
    /// Whether the caller must decode `gzip`: see ``CacheRequest/decodesGzip``.
    package var isToBeDecoded = false
    /// The result in RFC 9211's terms.
    public var outcome: CacheOutcome
    /// Has the reason, if it becomes known only at the end of the body that the response is not
    /// stored; `nil` for most responses.
    package var lateRefusal: LateRefusal?
    /// The redirects that led to this response; `nil` if there were none. The engine does not
    /// follow redirects, so its own responses never have any.
    package var redirects: FollowedRedirects?
    /// The request, and the responses stored when it arrived, for the offline forecast.
    package var forecastSubject: OfflineForecast.Subject?

    /// The time since the origin generated or last validated the response, in whole milliseconds.
    /// RFC 9111 §4.2.3
    public var age: Duration { .milliseconds(ageMilliseconds) }
}

extension CacheResponse {
    /// Creates a response from a relayed response whose head is parsed after all. Only responses
    /// that forbid storing are relayed.
    package init(_ relayed: any RelayedResponse) {
        self.init(
            head: relayed.parsedHead(),
            body: BodyStream(relayed.content),
            source: .network,
            ageMilliseconds: 0,
            outcome: CacheOutcome(forward: .uriMiss, notStored: .responseNoStore)
        )
    }
}
