/// What holds for one call. What is `nil` is as the endpoint says, and then as the client does.
public struct CallOptions: Sendable {
    /// What becomes of stored values that are stale.
    public enum StaleValues: Sendable, Hashable {
        /// They are emitted, marked. The default: old is better than nothing, and the network's
        /// follows.
        case emitted
        /// They are left out, those that are invalidated while a stream follows the store as well.
        case skipped
    }

    /// What becomes of the network's answer when it is what was emitted before.
    public enum UnchangedValues: Sendable, Hashable {
        /// It is emitted, marked unchanged: the caller learns that the value was confirmed.
        case emitted
        /// It is left out.
        case suppressed
    }

    /// What a stream that follows the store does when its value is invalidated: by a mutation, or
    /// by a purge.
    public enum InvalidatedValues: Sendable, Hashable {
        /// The stored value is emitted again, marked stale and unchanged; what takes its place is
        /// emitted when somebody has asked for it. The default: a stream that follows the store
        /// asks nobody.
        case emitted
        /// The same, and the origin is asked, once for each invalidation: its answer is emitted
        /// next. Where the network fails, ``CallOptions/networkFailure`` says what becomes of the
        /// stream. Not in the modes that keep the network out.
        case fetched
    }

    /// Which statuses are a success.
    public var acceptedStatuses: AcceptedStatuses?
    /// Decodes the content.
    public var decoder: (any ResponseDecoder)?
    /// Where in the content the value stands.
    public var valuePath: ValuePath?
    /// How the content is wrapped.
    public var envelope: EnvelopeChoice?
    /// What no content means.
    public var emptyContent: EmptyContent?
    /// Bytes of content that are accepted, after decompression.
    public var maximumBodyBytes: Int?
    /// How long the call may take, from its start to the network's value. What is stored is emitted
    /// before it all the same.
    public var timeout: Duration?
    /// When the request is sent again.
    public var retry: RetryPolicy?
    /// The same request within this time is not sent again; `nil`, the default, sends it whenever
    /// the strategy does.
    ///
    /// * *What is stored* and came, or was validated, no longer ago than this answers without the
    ///   network, fresh or not.
    /// * *What may not be stored* (`no-store`), or not be used stale (`no-cache`,
    ///   `must-revalidate`), is kept in memory for this time and answers too: for the same method,
    ///   target, fields and principal, so never across credentials. Concurrent calls wait for one
    ///   response.
    /// * *Marked*: the source is `store`, and the outcome has the detail `recent`.
    /// * *Only* GET and HEAD without content, of calls that use the store. `networkOnly` has the
    ///   network, and so has an endpoint whose `storage` is `never`, and a request with
    ///   `Cache-Control`, `Range` or a condition of its own.
    /// * *A failure* is shared by the calls that wait for it, and by none later. What a call cannot
    ///   decode is asked for again.
    /// * *Any invalidation* in the store (by a mutation through this client, a purge) ends what is
    ///   in memory, and so does a newer response to the same request.
    ///
    /// A plugin that gives each request a field of its own makes each another request. Retries,
    /// observing plugins, progress and what is checked before a response is stored are those of the
    /// call that was first.
    /// ``CachingClient/Configuration/reuseMemoryBytes`` bounds the memory.
    public var reuseWithin: Duration?
    /// Whether what directives forbid to store or to use is kept for reads without the network. A
    /// call reads what it stored itself, so give it to every call for the same resource, or to the
    /// endpoint.
    public var offlineReads: OfflineReads?
    /// See ``StaleValues``.
    public var staleValues = StaleValues.emitted
    /// See ``UnchangedValues``.
    public var unchangedValues = UnchangedValues.emitted
    /// How a stream ends when the network fails after a stored value.
    public var networkFailure = NetworkFailure.throwing
    /// After the network's value the stream goes on with what the store gets later, whoever stores
    /// it, until it is cancelled, or client or store are closed: then it completes.
    ///
    /// It emits what is other content than it emitted last, and the same content where that was
    /// invalidated, or was stale and is confirmed. What is removed from the store altogether, or
    /// may not be used stale (`must-revalidate`), cannot be emitted; what is stored next is.
    public var followsStore = false
    /// See ``InvalidatedValues``.
    public var invalidatedValues = InvalidatedValues.emitted
    /// Hears how the transfer goes on: of what is sent, and of what comes. See
    /// ``TransferProgress``.
    public var onProgress: (@Sendable (TransferProgress) -> Void)?
    /// Whether compressed content is asked for; as the client says unless told otherwise. See
    /// ``CachingClient/Configuration/acceptsCompression``.
    public var acceptsCompression: Bool?
    /// Plugins beside the client's; they run after them.
    public var plugins: [any Plugin] = []
    /// Whether a plugin's content may take the place of a response that did not come.
    var takesSubstitutes = true
    /// Validations, in order.
    var checks: [@Sendable (ResponseContent) throws -> Void] = []

    /// As endpoint and client say.
    public init() {}
}
