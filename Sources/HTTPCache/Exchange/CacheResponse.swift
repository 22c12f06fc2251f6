public import HTTPCacheSemantics
public import HTTPTypes

/// The response to a ``CacheRequest``: one head, one body, and how it came about.
public struct CacheResponse: Sendable {
    /// Where the body's bytes come from.
    public enum Source: String, Sendable, Hashable {
        /// A stored response was served without the origin.
        case store
        /// The origin responded: with this body, or with a 304 that freshened the stored one.
        case network
        /// Neither: a plugin of the request layer made it, because no response came. The engine's
        /// own responses never have it.
        case substitute
    }

    /// Status and fields; those of a stored response with its present `Age`.
    public var head: HTTPResponse
    /// See ``BodyStream``: it throws if the body breaks off.
    public var body: BodyStream
    /// See ``Source``.
    public var source: Source
    /// Milliseconds since the origin generated or last validated the response (RFC 9111 §4.2.3).
    public var age: Int64
    /// Past its freshness lifetime, or invalidated.
    public var isStale = false
    /// The origin responded with 304: the body is the stored one.
    public var isValidated = false
    /// The stored response behind this response, if there is one yet.
    public var stored: StoredResponse?
    /// In the words of RFC 9211.
    public var outcome: CacheOutcome
    /// The request and the stored responses when it came, for the offline forecast.
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
