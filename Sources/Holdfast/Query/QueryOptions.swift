/// When a ``Query`` asks the origin again.
public struct QueryOptions: Sendable, Hashable {
    /// How a query reacts when the program changes its stored value with
    /// ``CachingClient/update(_:encoder:_:)`` or ``CachingClient/set(_:_:encoder:)``.
    public enum UpdatedValues: Sendable, Hashable {
        /// The query shows the changed value immediately, and asks the origin for its own.
        case fetched
        /// The query shows the changed value immediately. Use this if the change shows a mutation's
        /// effect before the origin has confirmed it: until then, the origin may still send the
        /// former value. The mutation's ``Endpoint/invalidates`` then makes the query ask.
        case shown
    }

    /// The time from a response, or a failure, to the next request. By default, the query does not
    /// ask at intervals. An interval below one millisecond becomes one millisecond.
    public var interval: Duration? {
        didSet { interval = Self.limited(interval) }
    }
    /// See ``UpdatedValues``.
    public var updatedValues: UpdatedValues

    /// Creates options; see the properties for the defaults.
    public init(interval: Duration? = nil, updatedValues: UpdatedValues = .fetched) {
        self.interval = Self.limited(interval)
        self.updatedValues = updatedValues
    }

    private static func limited(_ interval: Duration?) -> Duration? { interval.map { max($0, .milliseconds(1)) } }
}
