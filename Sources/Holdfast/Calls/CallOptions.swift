public import HoldfastContent

/// Options of a single call. An option that is `nil` uses the endpoint's setting or, if that is
/// missing too, the client's.
public struct CallOptions: Sendable {
    /// How the call treats stale stored values.
    public enum StaleValues: Sendable, Hashable {
        /// They are emitted, marked stale. This is the default, because an old value is better than
        /// none, and the network's value follows.
        case emitted
        /// They are skipped, including values that are invalidated while a stream follows the
        /// store.
        case skipped
    }

    /// How the call treats a network response that repeats the last emitted value.
    public enum UnchangedValues: Sendable, Hashable {
        /// It is emitted, marked unchanged, which tells the caller that the value was confirmed.
        case emitted
        /// It is skipped.
        case suppressed
    }

    /// How a stream that follows the store reacts when a mutation or a purge invalidates its value.
    public enum InvalidatedValues: Sendable, Hashable {
        /// The stored value is emitted again, marked stale and unchanged. Its replacement is
        /// emitted as soon as any request fetches it. This is the default, because a stream that
        /// follows the store makes no requests.
        case emitted
        /// The same, and the stream also fetches from the origin, once for each invalidation, and
        /// emits that value next. If the network fails, ``CallOptions/networkFailure`` determines
        /// how the stream continues. Modes that prevent network use also prevent this fetch.
        case fetched
    }

    /// The statuses that count as success.
    public var acceptedStatuses: AcceptedStatuses?
    /// Decodes the content.
    public var decoder: (any ResponseDecoder)?
    /// The path of the value in the content.
    public var valuePath: ValuePath?
    /// How the content is wrapped.
    public var envelope: EnvelopeChoice?
    /// How the call treats a response without content.
    public var emptyContent: EmptyContent?
    /// The maximum number of bytes of content, after decompression.
    public var maximumBodyBytes: Int?
    /// The time limit from the call's start to the network's value, including redirects. It does
    /// not delay the stored value, which is emitted earlier.
    public var timeout: Duration?
    /// When the request is retried.
    public var retry: RetryPlan?
    /// The maximum age of a response that may be reused for the same request. `nil`, the default,
    /// sends the request whenever the strategy does.
    ///
    /// * *A stored response* that was received or validated within this time is served without
    ///   contacting the network, whether it is fresh or not.
    /// * *A response that may not be stored* (`no-store`), or may not be used stale (`no-cache`,
    ///   `must-revalidate`), is kept in memory for this time. It is reused only for the same
    ///   method, target, fields and principal, so it never crosses credentials. Concurrent calls
    ///   wait for one response.
    /// * *Mark*: the source is `store`, and the outcome has the detail `recent`.
    /// * *Scope*: GET and HEAD without content, in calls that use the store. These always use the
    ///   network: `networkOnly`, an endpoint whose `storage` is `never`, and a request with its own
    ///   `Cache-Control`, `Range` or condition.
    /// * *A failure* is shared by the calls that are waiting for it, and not by later calls. A call
    ///   that cannot decode a response fetches again.
    /// * *Any invalidation* in the store (by a mutation through this client, or by a purge) ends
    ///   the reuse of responses in memory. So does a newer response to the same request.
    ///
    /// If a plugin adds a different field to each request, no two requests are the same. Retries,
    /// observing plugins, progress and the checks before storing are those of the first call.
    /// ``CachingClient/Configuration/reuseMemoryBytes`` limits the memory.
    public var reuseWithin: Duration?
    /// Whether to keep responses for offline reads even if directives forbid storing or using them.
    /// Set it for every call for the same resource, or in the endpoint, because only calls with
    /// this option see such responses.
    public var offlineReads: OfflineReads?
    /// See ``StaleValues``.
    public var staleValues = StaleValues.emitted
    /// See ``UnchangedValues``.
    public var unchangedValues = UnchangedValues.emitted
    /// How a stream ends if the network fails after a stored value.
    public var networkFailure = NetworkFailure.throwing
    /// Whether the stream follows the store: after the network's value, it emits each value that
    /// any caller stores later.
    ///
    /// If the network fails, the stream throws and ends; with ``NetworkFailure/endingQuietly``, a
    /// stream that has emitted a stored value keeps following the store instead. Otherwise the
    /// stream completes when it is canceled, or when the client or the store is closed.
    ///
    /// It emits content that differs from the last emission. It also emits unchanged content that
    /// was invalidated, or that was stale and is now confirmed. A value that was removed from the
    /// store, or that may not be used stale (`must-revalidate`), is not emitted; the next stored
    /// value is.
    public var followsStore = false
    /// See ``InvalidatedValues``.
    public var invalidatedValues = InvalidatedValues.emitted
    /// Receives the progress of the transfer in both directions. See ``TransferProgress``.
    public var onProgress: (@Sendable (TransferProgress) -> Void)?
    /// Whether the call requests compressed content. By default, the client's
    /// ``CachingClient/Configuration/acceptsCompression`` applies.
    public var acceptsCompression: Bool?
    /// Additional plugins for this call. They run after the client's.
    public var plugins: [any Plugin] = []
    /// Whether a plugin's content may replace a missing response.
    var takesSubstitutes = true
    /// The validations, in order.
    var checks: [@Sendable (ResponseContent) throws -> Void] = []

    /// Creates options that change nothing.
    public init() {}
}
