/// Options of one call. A value of `nil` means the endpoint's setting, and then the client's.
public struct CallOptions: Sendable {
    /// How the call treats stale stored values.
    public enum StaleValues: Sendable, Hashable {
        /// They are emitted, marked stale. The default, because an old value is better than none,
        /// and the network's follows.
        case emitted
        /// They are left out, including values that are invalidated while a stream follows the
        /// store.
        case skipped
    }

    /// How the call treats a network response that repeats the value emitted before.
    public enum UnchangedValues: Sendable, Hashable {
        /// It is emitted, marked unchanged: the caller learns that the value was confirmed.
        case emitted
        /// It is left out.
        case suppressed
    }

    /// How a stream that follows the store reacts if its value is invalidated by a mutation or a
    /// purge.
    public enum InvalidatedValues: Sendable, Hashable {
        /// The stored value is emitted again, marked stale and unchanged. Its replacement is
        /// emitted as soon as any request fetches it. The default: a stream that follows the store
        /// makes no requests.
        case emitted
        /// The same, but the stream also fetches from the origin, once for each invalidation, and
        /// emits that value next. If the network fails, ``CallOptions/networkFailure`` decides how
        /// the stream continues. It does not fetch in the modes that prevent network use.
        case fetched
    }

    /// Which statuses are a success.
    public var acceptedStatuses: AcceptedStatuses?
    /// Decodes the content.
    public var decoder: (any ResponseDecoder)?
    /// The path of the value in the content.
    public var valuePath: ValuePath?
    /// How the content is wrapped.
    public var envelope: EnvelopeChoice?
    /// How the call treats a response without content.
    public var emptyContent: EmptyContent?
    /// Bytes of content that are accepted, after decompression.
    public var maximumBodyBytes: Int?
    /// How long the call may take, redirects included, from its start to the network's value. The
    /// stored value is emitted before that in any case.
    public var timeout: Duration?
    /// When the request is sent again.
    public var retry: RetryPolicy?
    /// How long a response may be reused for the same request. `nil`, the default, sends the
    /// request whenever the strategy does.
    ///
    /// * *A stored response* that came, or was validated, within this time is served without the
    ///   network, fresh or not.
    /// * *A response that may not be stored* (`no-store`), or not be used stale (`no-cache`,
    ///   `must-revalidate`), is kept in memory for this time and reused: for the same method,
    ///   target, fields and principal, so never across credentials. Concurrent calls wait for one
    ///   response.
    /// * *Mark*: the source is `store`, and the outcome has the detail `recent`.
    /// * *Scope*: GET and HEAD without content, in calls that use the store. `networkOnly` always
    ///   uses the network. So do an endpoint whose `storage` is `never`, and a request with its own
    ///   `Cache-Control`, `Range` or condition.
    /// * *A failure* is shared by the calls that wait for it, and by no later call. If a call
    ///   cannot decode a response, it fetches again.
    /// * *Any invalidation* in the store (by a mutation through this client, or a purge) ends the
    ///   reuse of responses in memory. A newer response to the same request does so too.
    ///
    /// If a plugin adds a different field to each request, every request is a different one.
    /// Retries, observing plugins, progress and the checks before storing are those of the first
    /// call. ``CachingClient/Configuration/reuseMemoryBytes`` limits the memory.
    public var reuseWithin: Duration?
    /// Whether responses that directives forbid to store or to use are kept for reads without the
    /// network. Set it for every call for the same resource, or in the endpoint, because only calls
    /// with this option see such responses.
    public var offlineReads: OfflineReads?
    /// See ``StaleValues``.
    public var staleValues = StaleValues.emitted
    /// See ``UnchangedValues``.
    public var unchangedValues = UnchangedValues.emitted
    /// How a stream ends if the network fails after a stored value.
    public var networkFailure = NetworkFailure.throwing
    /// Whether the stream follows the store: after the network's value it emits each value that is
    /// stored later, by any caller. It completes when it is cancelled, or when the client or the
    /// store is closed.
    ///
    /// It emits content that differs from the last emission. It emits the same content if that was
    /// invalidated, or was stale and is now confirmed. A value that was removed from the store, or
    /// may not be used stale (`must-revalidate`), is not emitted; the next stored value is.
    public var followsStore = false
    /// See ``InvalidatedValues``.
    public var invalidatedValues = InvalidatedValues.emitted
    /// Receives the progress of the transfer in both directions. See ``TransferProgress``.
    public var onProgress: (@Sendable (TransferProgress) -> Void)?
    /// Whether the call requests compressed content. By default as the client's
    /// ``CachingClient/Configuration/acceptsCompression``.
    public var acceptsCompression: Bool?
    /// Plugins of this call; they run after the client's.
    public var plugins: [any Plugin] = []
    /// Whether a plugin's content may replace a missing response.
    var takesSubstitutes = true
    /// Validations, in order.
    var checks: [@Sendable (ResponseContent) throws -> Void] = []

    /// Creates options that change nothing.
    public init() {}
}
