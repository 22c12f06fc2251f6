public import HTTPCache
public import HTTPCacheSemantics
public import HTTPTypes

/// A value and its source.
public struct Emission<Value: Sendable>: Sendable {
    /// The decoded content.
    public var value: Value
    /// The source: `store` for a stored response, `network` for a response from the origin or a 304
    /// that confirmed the stored response, `substitute` for content that a ``SubstitutingPlugin``
    /// supplied.
    public var source: CacheResponse.Source
    /// The time since the origin generated the response or last confirmed it. RFC 9111 §4.2.3
    public var age: Duration
    /// Whether the value is past its freshness lifetime, or invalidated. A value from the network
    /// is stale only if a stale stored redirect led to it.
    public var isStale: Bool
    /// Whether the content equals the stored value that was emitted before. If so, there is nothing
    /// to redraw.
    public var isUnchanged: Bool
    /// The response's status.
    public var status: HTTPResponse.Status
    /// The response's fields, such as `Link`, totals and validators. A stored response has its
    /// current `Age`.
    public var fields: HTTPFields
    /// How the exchange ended, in the terms of RFC 9211.
    public var outcome: CacheOutcome
    /// The reason that the network's response was not stored. Such a response is not available
    /// offline, and is not the first emission of the next call. `nil` if the response was stored,
    /// or confirmed the stored response. See <doc:MyClosureIsNeverCalled>.
    public var notStored: StorageRefusal? { outcome.notStored }

    /// Creates an emission; by default, of a new response from the network. For code that replaces
    /// a client, especially in tests.
    public init(
        value: Value,
        source: CacheResponse.Source = .network,
        age: Duration = .zero,
        isStale: Bool = false,
        isUnchanged: Bool = false,
        status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [:],
        outcome: CacheOutcome? = nil
    ) {
        self.value = value
        self.source = source
        self.age = age
        self.isStale = isStale
        self.isUnchanged = isUnchanged
        self.status = status
        self.fields = fields
        self.outcome = outcome ?? (source == .store ? CacheOutcome(isHit: true) : CacheOutcome(forward: .uriMiss))
    }

    /// Returns the same emission with another value.
    public func map<Other: Sendable>(_ transform: (Value) throws -> Other) rethrows -> Emission<Other> {
        Emission<Other>(
            value: try transform(value),
            source: source,
            age: age,
            isStale: isStale,
            isUnchanged: isUnchanged,
            status: status,
            fields: fields,
            outcome: outcome
        )
    }
}
