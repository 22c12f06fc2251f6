public import HTTPCache
public import HTTPCacheSemantics
public import HTTPTypes

/// A value on its way to the caller, and where it comes from.
public struct Emission<Value: Sendable>: Sendable {
    /// The decoded content.
    public var value: Value
    /// `store`: a stored response. `network`: the origin answered, with this content or with a 304
    /// that confirmed the stored one. `substitute`: a ``SubstitutingPlugin`` made it, because no
    /// response came.
    public var source: CacheResponse.Source
    /// How long ago the origin generated the response or last confirmed it. RFC 9111 §4.2.3
    public var age: Duration
    /// Past its freshness lifetime, or invalidated. Never so from the network.
    public var isStale: Bool
    /// The same content as the stored value that was emitted before: nothing to redraw.
    public var isUnchanged: Bool
    /// The response's status.
    public var status: HTTPResponse.Status
    /// The response's fields: pages (`Link`), totals, validators. Of a stored response with its
    /// present `Age`.
    public var fields: HTTPFields
    /// How the exchange ended, in the words of RFC 9211.
    public var outcome: CacheOutcome
    /// Why the network's response was not stored, so that there will be nothing of it offline, nor
    /// as the first emission of the next call. `nil` where it was stored or confirmed what is
    /// stored. See <doc:MyClosureIsNeverCalled>.
    public var notStored: StorageRefusal? { outcome.notStored }

    /// An emission: of the network, just generated, unless told otherwise. For code that stands in
    /// for a client, in tests above all.
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

    /// The same emission of another value.
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
